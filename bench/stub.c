/* The few functions of NVML that the comparison of calls needs. They do next to
   nothing, so that what is measured is the way into C and back. */
#include "stub.h"

int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }

int nvmlDeviceGetCount_v2(unsigned int *count)
{
	*count = 1;
	return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
	if (index > 0) return 2;
	*device = (nvmlDevice_t)0x1000;
	return 0;
}

int nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned int *power)
{
	*power = 250000 + (unsigned int)((unsigned long long)device >> 12);
	return 0;
}

int nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
	(void)device;
	memory->total = 80;
	memory->free = 50;
	memory->used = 30;
	return 0;
}
