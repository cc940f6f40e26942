'use server'

import { cookies } from 'next/headers'
import { publicUrl, readEnv } from '#lib/env.ts'
import { chosenLocale, chosenZone } from '../i18n/choice.ts'

async function keep(name: 'locale' | 'tz', value: string): Promise<void> {
  const secure = publicUrl(readEnv()).startsWith('https:')
  ;(await cookies()).set(name, value, { path: '/', maxAge: 365 * 86_400, sameSite: 'lax', httpOnly: true, secure })
}

/** Keeps the language that the reader chose. */
export async function chooseLocale(form: FormData): Promise<void> {
  const locale = chosenLocale(String(form.get('locale')))
  if (locale) await keep('locale', locale)
}

/** Keeps the browser's time zone, so that server and browser write the same times. */
export async function keepZone(zone: string): Promise<void> {
  const known = chosenZone(zone)
  if (known) await keep('tz', known)
}
