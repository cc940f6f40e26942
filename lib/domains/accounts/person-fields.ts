import { z } from 'zod'
import { SentEmailAddress } from '#lib/kernel/email-address.ts'

export const AccountId = z.string().regex(/^usr_[0-9A-Za-z]{22}$/, 'is not the id of an account')
export const PersonEmail = SentEmailAddress
export const PersonName = z.string().trim().min(1, 'must not be empty').max(200, 'must have at most 200 characters')
export const PersonSearch = z
  .string()
  .trim()
  .min(1)
  .max(200)
  .meta({ description: 'Text in the name or email address, case-insensitive' })
