'use client'

import { useTranslations } from 'next-intl'
import type { FormEvent } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { Field } from '#components/ui/field.tsx'
import { Section } from '#components/ui/page.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { sendStatusLinksAt } from './endpoints.ts'

/** Sends the links to the status pages again. The answer does not reveal whether the address has requests. */
export function StatusLinks() {
  const t = useTranslations('requestForm.links')
  const asking = useApiMutation(sendStatusLinksAt, { isQuiet: true })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    asking.begin({ body: { email: String(new FormData(event.currentTarget).get('email')).trim() } })
  }
  return (
    <Section id="links" title={t('title')} lead={t('text')}>
      <form method="post" onSubmit={submit} className="grid gap-4">
        {asking.problem && <ProblemAlert problem={asking.problem} />}
        {asking.isSuccess && (
          <Alert tone="done" title={t('sent')} isLive>
            <p>{t('sentText')}</p>
          </Alert>
        )}
        <Field label={t('email')} name="email" type="email" inputMode="email" autoComplete="email" required />
        <Button type="submit" tone="plain" aria-disabled={asking.isPending} className="justify-self-start">
          {t('submit')}
        </Button>
      </form>
    </Section>
  )
}
