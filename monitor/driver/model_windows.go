package driver

// driverModel asks after the model of a GPU's driver.
var driverModel = modelOf
