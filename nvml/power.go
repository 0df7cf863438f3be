package nvml

import "nvtop-lite/nvml/gen"

// PowerUsage returns the power that the GPU draws, in milliwatts. It is the
// average of a second on Ampere (but GA100) and later, a momentary value on
// older ones.
//
// Calls nvmlDeviceGetPowerUsage.
func (d Device) PowerUsage() (uint32, error) {
	return get(d, gen.FnDeviceGetPowerUsage, (*gen.Library).DeviceGetPowerUsage)
}

// PowerScope is what a power reading is about.
type PowerScope uint32

// The scopes of the power fields. They are numbered in another way than those
// of the calls that set limits.
const (
	PowerOfGPU    PowerScope = 0
	PowerOfModule PowerScope = 1 // GPU, CPU and memory of a superchip
)

// PowerInstant returns the momentary power in milliwatts.
//
// Calls nvmlDeviceGetFieldValues with the field 186 (driver 525, not 530).
func (d Device) PowerInstant(scope PowerScope) (uint32, error) {
	return d.fieldUint32(FieldPowerInstant, uint32(scope))
}

// PowerAverage returns the power in milliwatts, averaged over a second.
//
// Calls nvmlDeviceGetFieldValues with the field 185 (driver 525, not 530).
func (d Device) PowerAverage(scope PowerScope) (uint32, error) {
	return d.fieldUint32(FieldPowerAverage, uint32(scope))
}

// EnforcedPowerLimit returns the limit in force, the lowest of all that were
// set in any way, in milliwatts.
//
// Calls nvmlDeviceGetEnforcedPowerLimit.
func (d Device) EnforcedPowerLimit() (uint32, error) {
	return get(d, gen.FnDeviceGetEnforcedPowerLimit, (*gen.Library).DeviceGetEnforcedPowerLimit)
}

// PowerManagementLimit returns the limit that was set through the driver, in
// milliwatts.
//
// Calls nvmlDeviceGetPowerManagementLimit.
func (d Device) PowerManagementLimit() (uint32, error) {
	return get(d, gen.FnDeviceGetPowerManagementLimit, (*gen.Library).DeviceGetPowerManagementLimit)
}

// PowerManagementDefaultLimit returns the limit of a GPU whose limit nobody
// set, in milliwatts.
//
// Calls nvmlDeviceGetPowerManagementDefaultLimit.
func (d Device) PowerManagementDefaultLimit() (uint32, error) {
	return get(d, gen.FnDeviceGetPowerManagementDefaultLimit, (*gen.Library).DeviceGetPowerManagementDefaultLimit)
}

// PowerManagementLimitConstraints returns the lowest and the highest limit that
// can be set, in milliwatts.
//
// Calls nvmlDeviceGetPowerManagementLimitConstraints.
func (d Device) PowerManagementLimitConstraints() (lowest, highest uint32, err error) {
	return getPair(d, gen.FnDeviceGetPowerManagementLimitConstraints, (*gen.Library).DeviceGetPowerManagementLimitConstraints)
}

// TotalEnergyConsumption returns the energy used since the driver was loaded,
// in millijoules. Where it starts again from 0 the driver was loaded anew.
//
// Calls nvmlDeviceGetTotalEnergyConsumption (driver 384, Volta and later), then
// nvmlDeviceGetFieldValues with the field 83.
func (d Device) TotalEnergyConsumption() (uint64, error) {
	return first(d, chainEnergy, 0,
		step[uint64]{gen.FnDeviceGetTotalEnergyConsumption, func(f *frame, place int) (uint64, Return) {
			return call(f, gen.FnDeviceGetTotalEnergyConsumption, place, (*gen.Library).DeviceGetTotalEnergyConsumption)
		}},
		step[uint64]{gen.FnDeviceGetFieldValues, func(f *frame, place int) (uint64, Return) {
			v, r := f.field(FieldTotalEnergy, 0, place)
			if r != Success {
				return 0, r
			}
			n, ok := v.Uint64()
			if !ok {
				return 0, ErrImplausible
			}
			return n, Success
		}})
}

// PowerSource is where the power comes from.
type PowerSource uint32

// The sources.
const (
	PowerFromMains      = PowerSource(gen.NVML_POWER_SOURCE_AC)
	PowerFromBattery    = PowerSource(gen.NVML_POWER_SOURCE_BATTERY)
	PowerFromUndersized = PowerSource(gen.NVML_POWER_SOURCE_UNDERSIZED) // mains, but too weak
)

// PowerSource returns where the power comes from.
//
// Calls nvmlDeviceGetPowerSource (driver 510).
func (d Device) PowerSource() (PowerSource, error) {
	v, err := get(d, gen.FnDeviceGetPowerSource, (*gen.Library).DeviceGetPowerSource)
	return PowerSource(v), err
}
