/*
 * ProcessPrng for releases of Wine that lack it, without which no program of
 * today's Go starts there. Built as bcryptprimitives.dll into a prefix made for
 * one test run.
 */
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE p, SIZE_T n)
{
    return SystemFunction036(p, (ULONG)n);
}
