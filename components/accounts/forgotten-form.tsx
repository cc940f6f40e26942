'use client'

import { useTranslations } from 'next-intl'
import type { FormEvent } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { Field } from '#components/ui/field.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { requestResetAt } from './endpoints.ts'

/**
 * Requests an email with a reset link. The answer does not reveal whether an account has the address. `email` is the reader's own if signed
 * in.
 */
export function ForgottenForm({ email }: { email?: string | undefined }) {
  const t = useTranslations('password.forgotten')
  const asking = useApiMutation(requestResetAt, { isQuiet: true })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    asking.begin({ body: { email: String(new FormData(event.currentTarget).get('email')).trim() } })
  }
  return (
    <form method="post" onSubmit={submit} className="grid gap-5">
      {asking.problem && <ProblemAlert problem={asking.problem} />}
      {asking.isSuccess && (
        <Alert tone="done" title={t('sent')} isLive>
          <p>{t('sentText')}</p>
        </Alert>
      )}
      <Field
        label={t('email')}
        name="email"
        type="email"
        autoComplete="username"
        inputMode="email"
        maxLength={320}
        defaultValue={email}
        readOnly={email !== undefined}
        required
      />
      <Button type="submit" aria-disabled={asking.isPending} className="justify-self-start">
        {asking.isPending ? t('busy') : t('submit')}
      </Button>
    </form>
  )
}
