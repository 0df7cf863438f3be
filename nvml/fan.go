package nvml

import "nvtop-lite/nvml/gen"

// NumFans returns the number of fans.
//
// Calls nvmlDeviceGetNumFans (driver 510). Older drivers have no count: ask
// [Device.FanSpeed] for 0, 1, 2 … until it answers [ErrInvalidArgument].
func (d Device) NumFans() (int, error) {
	n, err := get(d, gen.FnDeviceGetNumFans, (*gen.Library).DeviceGetNumFans)
	return int(n), err
}

// FanSpeed returns the intended speed of a fan, counted from 0, as a percentage
// of its full speed; it is not a measurement, and may be above 100.
//
// Calls nvmlDeviceGetFanSpeed_v2 (driver 418), then, for fan 0,
// nvmlDeviceGetFanSpeed.
func (d Device) FanSpeed(fan int) (uint32, error) {
	return first(d, chainFan, 0,
		step[uint32]{gen.FnDeviceGetFanSpeed_v2, func(f *frame, place int) (uint32, Return) {
			if !f.begin(gen.FnDeviceGetFanSpeed_v2, place) {
				return 0, ErrFunctionNotFound
			}
			v := scratch[uint32](f)
			r := f.end(f.raw().DeviceGetFanSpeed_v2(f.c, f.h, uint32(fan), v))
			return *v, r
		}},
		step[uint32]{gen.FnDeviceGetFanSpeed, func(f *frame, place int) (uint32, Return) {
			if fan != 0 {
				return 0, ErrInvalidArgument // the older function knows one fan
			}
			return call(f, gen.FnDeviceGetFanSpeed, place, (*gen.Library).DeviceGetFanSpeed)
		}})
}

// FanSpeedRPM returns the speed of a fan in revolutions per minute.
//
// Calls nvmlDeviceGetFanSpeedRPM (driver 565).
func (d Device) FanSpeedRPM(fan int) (uint32, error) {
	v, err := getInit(d, gen.FnDeviceGetFanSpeedRPM, (*gen.Library).DeviceGetFanSpeedRPM,
		gen.FanSpeedInfo_v1_t{Version: gen.VersionFanSpeedInfo_v1, Fan: uint32(fan)})
	return v.Speed, err
}

// TargetFanSpeed returns the speed, in percent, that a fan is to reach.
//
// Calls nvmlDeviceGetTargetFanSpeed (driver 515).
func (d Device) TargetFanSpeed(fan int) (uint32, error) {
	return getAt(d, gen.FnDeviceGetTargetFanSpeed, (*gen.Library).DeviceGetTargetFanSpeed, uint32(fan))
}

// MinMaxFanSpeed returns the lowest and the highest speed, in percent, that can
// be set.
//
// Calls nvmlDeviceGetMinMaxFanSpeed (driver 515).
func (d Device) MinMaxFanSpeed() (lowest, highest uint32, err error) {
	return getPair(d, gen.FnDeviceGetMinMaxFanSpeed, (*gen.Library).DeviceGetMinMaxFanSpeed)
}

// FanControlPolicy says who controls a fan.
type FanControlPolicy uint32

// The policies.
const (
	FanTemperatureControlled = FanControlPolicy(gen.NVML_FAN_POLICY_TEMPERATURE_CONTINOUS_SW)
	FanManual                = FanControlPolicy(gen.NVML_FAN_POLICY_MANUAL)
)

// FanControlPolicy returns who controls a fan.
//
// Calls nvmlDeviceGetFanControlPolicy_v2 (driver 520).
func (d Device) FanControlPolicy(fan int) (FanControlPolicy, error) {
	v, err := getAt(d, gen.FnDeviceGetFanControlPolicy_v2, (*gen.Library).DeviceGetFanControlPolicy_v2, uint32(fan))
	return FanControlPolicy(v), err
}
