import { sensitiveKinds as scannedKinds } from '#lib/domains/pii/findings.ts'

/** Kinds of data that are removed from a share, strongest first. */
export const strippedKinds = [
  ...scannedKinds.slice(0, 3),
  'credential',
  'wallet_address',
  ...scannedKinds.slice(3),
] as const
export type StrippedKind = (typeof scannedKinds)[number] | 'credential' | 'wallet_address'
