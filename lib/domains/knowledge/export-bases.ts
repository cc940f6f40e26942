import type { Basis, ExportReader } from '#lib/kernel/exporter.ts'
import { jsonObject } from '#lib/stores/postgres/record-pages.ts'

export const both: readonly Basis[] = ['provided', 'all']
export const derivedOnly: readonly Basis[] = ['all']

/** Omits derived data when only provided data is requested (GDPR art. 20). */
export const members = (
  { basis }: ExportReader,
  provided: Record<string, string>,
  derived: Record<string, string>,
): string => jsonObject(basis === 'all' ? { ...provided, ...derived } : provided)
