'use server'

import { cookies } from 'next/headers'
import { publicUrl, readEnv } from '#lib/config/env.ts'
import { chosenLocale, chosenZone } from '../i18n/choice.ts'

async function keep(name: 'locale' | 'tz' | 'sidebar', value: string): Promise<void> {
  const secure = publicUrl(readEnv()).startsWith('https:')
  ;(await cookies()).set(name, value, { path: '/', maxAge: 365 * 86_400, sameSite: 'lax', httpOnly: true, secure })
}

/** Stores the language that the user chose in a cookie; ignores an unknown language. */
export async function chooseLocale(form: FormData): Promise<void> {
  const locale = chosenLocale(String(form.get('locale')))
  if (locale) await keep('locale', locale)
}

/** Stores the browser's time zone in a cookie, so that server and browser render the same times. */
export async function storeTimeZone(zone: string): Promise<void> {
  const known = chosenZone(zone)
  if (known) await keep('tz', known)
}

/** Stores in a cookie whether the sidebar shows only icons, so that the server renders it in its width. */
export async function storeSidebar(isNarrow: boolean): Promise<void> {
  await keep('sidebar', isNarrow ? 'narrow' : 'wide')
}
