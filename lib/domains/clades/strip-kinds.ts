import { kinds as scannedKinds } from '#lib/domains/pii/findings.ts'

/** What is taken out of what leaves for a sibling; the strongest first. */
export const strippedKinds = [
  ...scannedKinds.slice(0, 3),
  'credential',
  'wallet_address',
  ...scannedKinds.slice(3),
] as const
export type StrippedKind = (typeof scannedKinds)[number] | 'credential' | 'wallet_address'
