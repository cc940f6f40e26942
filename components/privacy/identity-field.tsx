'use client'

import { useTranslations } from 'next-intl'
import type { RefObject } from 'react'
import { Field } from '#components/ui/field.tsx'
import { longestPassword } from '#lib/domains/accounts/rules.ts'

export interface PasswordIdentity {
  /** The address of the account, for password managers. */
  email: string
  hasPassword: boolean
}
interface IdentityFieldProps extends PasswordIdentity {
  input: RefObject<HTMLInputElement | null>
  fault: 'wrong' | 'missing' | undefined
}

/** Asks for the password, which no draft stores; without a password, explains that a link is sent by email. */
export function IdentityField({ email, hasPassword, input, fault }: IdentityFieldProps) {
  const t = useTranslations('myPrivacy.identity')
  if (!hasPassword) return <p className="text-sm text-quiet">{t('link')}</p>
  return (
    <>
      <input type="hidden" name="username" autoComplete="username" value={email} readOnly />
      <Field
        ref={input}
        label={t('password')}
        hint={t('hint')}
        error={fault && t(fault)}
        name="password"
        type="password"
        autoComplete="current-password"
        maxLength={longestPassword}
        className="sm:max-w-96"
      />
    </>
  )
}
