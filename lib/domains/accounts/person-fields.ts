import { z } from 'zod'

export const AccountId = z.string().regex(/^usr_[0-9A-Za-z]{22}$/, 'is not the id of an account')
export const PersonEmail = z.email('takes an e-mail address').max(320)
export const PersonName = z.string().trim().min(1, 'has one character at least').max(200, 'has 200 characters at most')
export const PersonSearch = z
  .string()
  .trim()
  .min(1)
  .max(200)
  .meta({ description: 'What name or address contain, in whatever case' })
