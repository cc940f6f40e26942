import { z } from 'zod'
import { seal, unseal } from '#lib/config/secret.ts'
import { requestKinds } from '#lib/domains/privacy-requests/rules.ts'

const FormContent = z.strictObject({
  email: z.string(),
  locale: z.enum(['en', 'zh']),
  name: z.string().optional(),
  kind: z.enum(requestKinds),
  statement: z.string().optional(),
})
/** What a requester entered in the form. */
export type FormContent = z.output<typeof FormContent>

/** Seals the content of an unconfirmed request: only this installation can read it, and only for this request. */
export const sealForm = (key: Uint8Array, id: string, content: FormContent): Uint8Array<ArrayBuffer> =>
  new Uint8Array(seal(key, Buffer.from(JSON.stringify(content)), id))

export const openForm = (key: Uint8Array, id: string, sealed: Uint8Array): FormContent =>
  FormContent.parse(JSON.parse(unseal(key, sealed, id).toString('utf8')))
