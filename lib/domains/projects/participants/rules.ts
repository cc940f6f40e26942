import { z } from 'zod'
import { EmailAddress } from '#lib/kernel/email-address.ts'
import { SingleLine } from '../rules.ts'

/** An external id as it is stored and compared: in NFC (composed Unicode characters), without outer spaces, case-sensitive. */
export const normalExternalId = (text: string): string => text.normalize('NFC').trim()
/** The application's own id of a person. See {@link normalExternalId}. */
export const ExternalId = z
  .string()
  .normalize('NFC')
  .trim()
  .min(1, 'must not be empty')
  .max(200, 'must have at most 200 characters')
  .refine((text) => text.isWellFormed() && !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text), 'must not contain control characters')

export const ParticipantEmail = z
  .string()
  .trim()
  .normalize('NFC')
  .toLowerCase()
  .pipe(EmailAddress.max(320, 'must have at most 320 characters'))

/** The participant on whose behalf an agent writes. */
export const Author = z
  .strictObject({ external_id: ExternalId, name: SingleLine.optional(), email: ParticipantEmail.optional() })
  .meta({
    id: 'ParticipantAuthor',
    description:
      'The participant on whose behalf an agent writes. `external_id` is the application’s own id of the person and names a participant of this project only. `email` connects the participant to an account only when the person claims the participation with this verified address.',
  })
export type Author = z.output<typeof Author>
