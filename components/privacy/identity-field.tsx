'use client'

import { useTranslations } from 'next-intl'
import type { RefObject } from 'react'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
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

interface LostFactorProps {
  email: string
  isPending: boolean
  /** Files the same request without the password; undefined if it cannot be filed by a link. */
  onLink: ((form: HTMLFormElement | null) => void) | undefined
}

/** What to do without one's second factor, after the confirmation with it was cancelled. */
export function LostFactor({ email, isPending, onLink }: LostFactorProps) {
  const t = useTranslations('myPrivacy.identity.lost')
  return (
    <Alert tone="warning" title={t('title')} isLive>
      <p>{onLink ? t('text', { email }) : t('ask')}</p>
      {onLink && (
        <Button
          tone="plain"
          aria-disabled={isPending}
          onClick={({ currentTarget }) => onLink(currentTarget.form)}
          className="justify-self-start"
        >
          {t('link')}
        </Button>
      )}
    </Alert>
  )
}
