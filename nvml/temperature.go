package nvml

import "nvtop-lite/nvml/gen"

// TemperatureSensor names a sensor.
type TemperatureSensor uint32

// TemperatureGPU is the sensor on the GPU's die, the only one that every driver
// knows. The temperature of the memory is the field [FieldMemoryTemp].
const TemperatureGPU = TemperatureSensor(gen.NVML_TEMPERATURE_GPU)

// Temperature returns the temperature in °C.
//
// Calls nvmlDeviceGetTemperatureV (driver 565), then nvmlDeviceGetTemperature.
func (d Device) Temperature(sensor TemperatureSensor) (int, error) {
	return first(d, chainTemperature, 0,
		step[int]{gen.FnDeviceGetTemperatureV, func(f *frame, place int) (int, Return) {
			t, r := callInit(f, gen.FnDeviceGetTemperatureV, place, (*gen.Library).DeviceGetTemperatureV,
				gen.Temperature_v1_t{Version: gen.VersionTemperature_v1, SensorType: gen.TemperatureSensors_t(sensor)})
			return int(t.Temperature), r
		}},
		step[int]{gen.FnDeviceGetTemperature, func(f *frame, place int) (int, Return) {
			if !f.begin(gen.FnDeviceGetTemperature, place) {
				return 0, ErrFunctionNotFound
			}
			t := scratch[uint32](f)
			r := f.end(f.raw().DeviceGetTemperature(f.c, f.h, gen.TemperatureSensors_t(sensor), t))
			return int(int32(*t)), r
		}})
}

// TemperatureThreshold names a temperature at which something happens.
type TemperatureThreshold uint32

// The thresholds.
const (
	ThresholdShutdown        = TemperatureThreshold(gen.NVML_TEMPERATURE_THRESHOLD_SHUTDOWN)
	ThresholdSlowdown        = TemperatureThreshold(gen.NVML_TEMPERATURE_THRESHOLD_SLOWDOWN)
	ThresholdMemoryMax       = TemperatureThreshold(gen.NVML_TEMPERATURE_THRESHOLD_MEM_MAX)
	ThresholdGPUMax          = TemperatureThreshold(gen.NVML_TEMPERATURE_THRESHOLD_GPU_MAX)
	ThresholdAcousticMin     = TemperatureThreshold(gen.NVML_TEMPERATURE_THRESHOLD_ACOUSTIC_MIN)
	ThresholdAcousticCurrent = TemperatureThreshold(gen.NVML_TEMPERATURE_THRESHOLD_ACOUSTIC_CURR)
	ThresholdAcousticMax     = TemperatureThreshold(gen.NVML_TEMPERATURE_THRESHOLD_ACOUSTIC_MAX)
	ThresholdGPSCurrent      = TemperatureThreshold(gen.NVML_TEMPERATURE_THRESHOLD_GPS_CURR)
)

// TemperatureThreshold returns a threshold in °C. From the Ada architecture on
// the first four are better taken from [Device.TemperatureLimit], which is
// another measure.
//
// Calls nvmlDeviceGetTemperatureThreshold.
func (d Device) TemperatureThreshold(t TemperatureThreshold) (int, error) {
	v, err := getAt(d, gen.FnDeviceGetTemperatureThreshold, (*gen.Library).DeviceGetTemperatureThreshold, gen.TemperatureThresholds_t(t))
	return int(int32(v)), err
}

// TemperatureLimit returns the limit of the same name as a margin: the distance
// in °C, on the scale of [Device.MarginTemperature], at which it takes hold. It
// may be 0 or negative and must not be compared with a temperature. Only the
// first four thresholds exist here.
//
// Calls nvmlDeviceGetFieldValues with the fields 193 to 196 (driver 525, Ada
// and later).
func (d Device) TemperatureLimit(t TemperatureThreshold) (int, error) {
	if t > ThresholdGPUMax {
		return 0, d.fieldError(ErrInvalidArgument)
	}
	v, err := d.field(FieldTemperatureShutdownLimit+FieldID(t), 0)
	if err != nil {
		return 0, err
	}
	n, ok := v.Int64()
	if !ok {
		return 0, d.fieldError(ErrImplausible)
	}
	return int(n), nil
}

// MarginTemperature returns how many °C are left to the next slowdown.
//
// Calls nvmlDeviceGetMarginTemperature (driver 570).
func (d Device) MarginTemperature() (int, error) {
	m, err := getInit(d, gen.FnDeviceGetMarginTemperature, (*gen.Library).DeviceGetMarginTemperature,
		gen.MarginTemperature_v1_t{Version: gen.VersionMarginTemperature_v1})
	return int(m.MarginTemperature), err
}

// MemoryTemperature returns the temperature of the memory in °C. Mostly boards
// with HBM have such a sensor.
//
// Calls nvmlDeviceGetFieldValues with the field 82.
func (d Device) MemoryTemperature() (int, error) {
	v, err := d.field(FieldMemoryTemp, 0)
	if err != nil {
		return 0, err
	}
	n, ok := v.Int64()
	if !ok {
		return 0, d.fieldError(ErrImplausible)
	}
	return int(n), nil
}

// ThermalSensor is a sensor of [Device.ThermalSettings], in °C.
type ThermalSensor struct {
	Controller, Target    int32 // numbers of nvmlThermalController_t and nvmlThermalTarget_t
	Min, Max, Temperature int
}

// ThermalSettings returns the thermal sensors of a GPU.
//
// Calls nvmlDeviceGetThermalSettings (driver 515).
func (d Device) ThermalSettings() ([]ThermalSensor, error) {
	s, err := getAt(d, gen.FnDeviceGetThermalSettings, (*gen.Library).DeviceGetThermalSettings, uint32(gen.NVML_THERMAL_TARGET_ALL))
	if err != nil {
		return nil, err
	}
	list := make([]ThermalSensor, 0, len(s.Sensor))
	for _, v := range s.Sensor[:min(int(s.Count), len(s.Sensor))] {
		list = append(list, ThermalSensor{int32(v.Controller), int32(v.Target), int(v.DefaultMinTemp), int(v.DefaultMaxTemp), int(v.CurrentTemp)})
	}
	return list, nil
}
