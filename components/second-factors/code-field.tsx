'use client'

import { useTranslations } from 'next-intl'
import type { ComponentProps } from 'react'
import { Field } from '#components/ui/field.tsx'

/** Asks an account with a second factor for the code of an authenticator app, or for a recovery code. */
export function SecondFactorCodeField(
  props: Pick<ComponentProps<typeof Field>, 'error' | 'onChange' | 'ref' | 'value'>,
) {
  const t = useTranslations('frame.secondFactor')
  return (
    <Field
      label={t('code')}
      hint={t('codeHint')}
      name="code"
      autoComplete="one-time-code"
      // Recovery codes are longer than six digits.
      maxLength={64}
      required
      {...props}
    />
  )
}
