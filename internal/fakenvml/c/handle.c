/*
 * Device handles are addresses inside a table that nobody reads: they only
 * number GPUs and MIG devices. Those of an earlier initialisation are stale.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

enum { EPOCHS = 4, SLOTS = MAX_MIG + 1 };

static struct slot {
	char uuid[96]; /* of the MIG device that the handle was given for */
} slots[EPOCHS][MAX_GPUS][SLOTS];

static unsigned epoch;

void handles_forget(void)
{
	epoch = (epoch + 1) % EPOCHS;
	memset(slots[epoch], 0, sizeof slots[epoch]);
}

nvmlDevice_t handle_of(unsigned gpu, int mig)
{
	struct slot *s = &slots[epoch][gpu][mig + 1];
	struct value *uuid =
		table_find(mig < 0 ? &now->gpu[gpu].table : &now->gpu[gpu].mig[mig], "uuid");
	snprintf(s->uuid, sizeof s->uuid, "%s", uuid ? uuid->text : "");
	return (nvmlDevice_t)(void *)s;
}

int handle_resolve(nvmlDevice_t device, struct target *t)
{
	uintptr_t p = (uintptr_t)device, base = (uintptr_t)&slots[epoch];
	if (p < base || p >= base + sizeof slots[0] || (p - base) % sizeof(struct slot)) return 0;
	unsigned n = (unsigned)((p - base) / sizeof(struct slot));
	unsigned index = n / SLOTS, slot = n % SLOTS;
	if (index >= now->gpus) return 0;
	t->index = index;
	t->mig = (int)slot - 1;
	t->parent = &now->gpu[index].table;
	t->table = slot == 0 ? t->parent : &now->gpu[index].mig[slot - 1];
	if (slot > 0 && !t->table->present) return 0;
	/* A MIG device that was destroyed and made anew has another UUID. */
	struct value *uuid = table_find(t->table, "uuid");
	if (slot > 0 && uuid && strcmp(uuid->text, slots[epoch][index][slot].uuid)) return 0;
	return slots[epoch][index][slot].uuid[0] != 0;
}

void pci_numbers(struct table *t, unsigned *domain, unsigned *bus, unsigned *device)
{
	struct value *v = table_find(t, "busid");
	*domain = *bus = *device = 0;
	if (v) sscanf(v->text, "%x:%x:%x", domain, bus, device);
}

void pci_fill(struct table *t, nvmlPciInfo_t *pci)
{
	memset(pci, 0, sizeof *pci);
	pci_numbers(t, &pci->domain, &pci->bus, &pci->device);
	snprintf(pci->busIdLegacy, sizeof pci->busIdLegacy, "%04X:%02X:%02X.0",
	         pci->domain & 0xffff, pci->bus & 0xff, pci->device & 0x1f);
	snprintf(pci->busId, sizeof pci->busId, "%08X:%02X:%02X.0", pci->domain, pci->bus & 0xff,
	         pci->device & 0x1f);
	pci->pciDeviceId = (unsigned)get_u64(t, "pci.id", 0x233010de);
	pci->pciSubSystemId = (unsigned)get_u64(t, "pci.subsystem", 0x16c110de);
}
