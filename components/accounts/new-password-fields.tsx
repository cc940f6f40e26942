'use client'

import { useTranslations } from 'next-intl'
import { Field } from '#components/ui/field.tsx'
import { leastPasswordLength, longestPassword } from '#lib/domains/accounts/rules.ts'

/** The two fields of a new password: `next` and `again`. */
export function NewPasswordFields({ errorOf }: { errorOf: (field: 'next' | 'again') => string | undefined }) {
  const t = useTranslations('password')
  return (
    <>
      <Field
        label={t('next')}
        hint={t('hint', { least: leastPasswordLength })}
        name="next"
        type="password"
        autoComplete="new-password"
        minLength={leastPasswordLength}
        maxLength={longestPassword}
        error={errorOf('next')}
        required
      />
      <Field
        label={t('again')}
        name="again"
        type="password"
        autoComplete="new-password"
        maxLength={longestPassword}
        error={errorOf('again')}
        required
      />
    </>
  )
}
