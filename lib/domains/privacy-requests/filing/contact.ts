import { z } from 'zod'
import { seal, unseal } from '#lib/config/secret.ts'
import type { RequestContact } from '#lib/domains/privacy-requests/ports.ts'

const Sealed = z.strictObject({ email: z.string(), locale: z.enum(['en', 'zh']), requesterName: z.string().optional() })

/** Seals the address for emails about a request: only this installation can read it, and only for this request. */
export const sealContact = (
  key: Uint8Array,
  requestId: string,
  { email, locale, requesterName }: RequestContact,
): Uint8Array<ArrayBuffer> =>
  new Uint8Array(seal(key, Buffer.from(JSON.stringify({ email, locale, requesterName })), requestId))

export const openContact = (key: Uint8Array, requestId: string, sealed: Uint8Array): RequestContact =>
  Sealed.parse(JSON.parse(unseal(key, sealed, requestId).toString('utf8')))
