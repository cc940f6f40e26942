'use client'

import { useTranslations } from 'next-intl'
import { useApiMutation } from '#components/frame/api-query.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { focusOnMount } from '#components/ui/focus-on-mount.ts'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import { confirmFormAt } from './endpoints.ts'
import { useFragment } from './fragment.ts'

/** Files the request when the person presses the button. Opening the page, as mail scanners do, changes nothing. */
export function FormConfirmation() {
  const t = useTranslations('requestForm.confirm')
  const token = useFragment()
  const confirming = useApiMutation(confirmFormAt, { isQuiet: true })
  const { problem, data } = confirming
  if (data)
    return (
      <Alert tone="done" title={t('done')} ref={focusOnMount} isLive>
        <p>{t.rich('due', { time: () => <Time at={data.data.legal_due_at} /> })}</p>
        <p>{t('then')}</p>
      </Alert>
    )
  if (token === undefined) return <p className="text-quiet">{t('reading')}</p>
  if (token === '')
    return (
      <Alert tone="warning" title={t('missing')}>
        <p>{t('missingText')}</p>
      </Alert>
    )
  if (problem?.code === 'link_spent')
    return (
      <div key="over" ref={focusOnMount} tabIndex={-1} className="grid gap-5">
        <ProblemAlert problem={problem} />
        <p>
          <TextLink href="/request">{t('again')}</TextLink>
        </p>
      </div>
    )
  return (
    <div className="grid gap-5">
      {problem && <ProblemAlert problem={problem} />}
      <p>{t('what')}</p>
      <Button
        className="justify-self-start"
        aria-disabled={confirming.isPending}
        onClick={() => {
          if (confirming.isPending) return
          confirming.begin({ body: { token } }, () =>
            // Remove the used link from the history.
            window.history.replaceState(null, '', window.location.pathname),
          )
        }}
      >
        {confirming.isPending ? t('busy') : t('button')}
      </Button>
    </div>
  )
}
