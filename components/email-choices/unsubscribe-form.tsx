'use client'

import { useMutation, useQuery } from '@tanstack/react-query'
import { useTranslations } from 'next-intl'
import { useEffect, useState } from 'react'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { RequestRefused, request } from '#lib/client/request.ts'
import { unsubscribeAt, unsubscriptionAt } from './endpoints.ts'

const problemOf = (error: unknown) => (error instanceof RequestRefused ? error.problem : undefined)

/** States which emails the link turns off, and turns them off when the person presses the button. */
export function UnsubscribeForm() {
  const t = useTranslations('emails')
  const [token, setToken] = useState<string>()
  // The server never receives the fragment, so the first render does not have it.
  useEffect(() => setToken(window.location.hash.replace(/^#/, '')), [])
  const reading = useQuery({
    queryKey: ['unsubscription', token],
    queryFn: () => request(unsubscriptionAt, { query: { token: token ?? '' } }),
    enabled: Boolean(token),
    retry: false,
  })
  const turningOff = useMutation({ mutationFn: () => request(unsubscribeAt, { query: { token: token ?? '' } }) })
  if (token === '' || problemOf(reading.error)?.code === 'not_found' || problemOf(reading.error)?.code === 'invalid')
    return (
      <Alert tone="warning" title={t('unsubscribe.missing')}>
        <p>{t('unsubscribe.missingText')}</p>
      </Alert>
    )
  const problem = problemOf(turningOff.error) ?? problemOf(reading.error)
  const shown = turningOff.data?.data ?? reading.data?.data
  if (shown?.is_off)
    return (
      <Alert tone="done" title={t('unsubscribe.done')} isLive>
        <p>{t.rich('unsubscribe.doneText', { account: (words) => <TextLink href="/account">{words}</TextLink> })}</p>
      </Alert>
    )
  return (
    <div className="grid gap-4">
      {problem?.code === 'conflict' ? (
        <Alert tone="warning" title={t('onlyReceiverTitle')} isLive />
      ) : (
        problem && <ProblemAlert problem={problem} />
      )}
      {shown ? (
        <>
          <ul className="list-disc pl-5">
            {shown.kinds.map((kind) => (
              <li key={kind}>{t(`kinds.${kind}.name`)}</li>
            ))}
          </ul>
          <Button
            className="justify-self-start"
            aria-disabled={turningOff.isPending}
            onClick={() => !turningOff.isPending && turningOff.mutate()}
          >
            {t('unsubscribe.action')}
          </Button>
        </>
      ) : (
        !problem && <p className="text-quiet">{t('unsubscribe.reading')}</p>
      )}
    </div>
  )
}
