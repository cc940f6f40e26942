'use client'

import { useTranslations } from 'next-intl'
import { type ReactNode, useState } from 'react'
import { Field } from '#components/ui/field.tsx'
import { isWeak, shortestPassphrase } from './vault-rules.ts'

/**
 * The two fields for a new passphrase and their validation. The inputs have no `name`, so no form submission sends them. Faults appear once
 * `checked` was called.
 */
export function useNewPassphrase(): { fields: ReactNode; checked: () => string | undefined; clear: () => void } {
  const t = useTranslations('agentGrimoire.passphrase')
  const [typed, setTyped] = useState({ next: '', again: '' })
  const [isChecked, setChecked] = useState(false)
  const isShort = isWeak(typed.next)
  const differs = typed.next !== typed.again
  return {
    checked: () => {
      setChecked(true)
      return isShort || differs ? undefined : typed.next
    },
    clear: () => {
      setTyped({ next: '', again: '' })
      setChecked(false)
    },
    fields: (
      <>
        <Field
          label={t('next')}
          hint={t('nextHint', { fewest: shortestPassphrase })}
          type="password"
          autoComplete="new-password"
          value={typed.next}
          onChange={({ target }) => setTyped((before) => ({ ...before, next: target.value }))}
          error={isChecked && isShort ? t('weak', { fewest: shortestPassphrase }) : undefined}
          required
        />
        <Field
          label={t('again')}
          type="password"
          autoComplete="new-password"
          value={typed.again}
          onChange={({ target }) => setTyped((before) => ({ ...before, again: target.value }))}
          error={isChecked && !isShort && differs ? t('different') : undefined}
          required
        />
      </>
    ),
  }
}
