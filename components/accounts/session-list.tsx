'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { Button } from '#components/ui/button.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { Time } from '#components/ui/time.tsx'
import { RequestRefused } from '#lib/client/request.ts'
import { type Sessions, useRevocation, useSessions } from './sessions.ts'

export function SessionList({ initial }: { initial: Sessions }) {
  const t = useTranslations('sessions')
  const sessions = useSessions(initial)
  const revocation = useRevocation()
  const [ended, setEnded] = useState(0)
  const error = revocation.error ?? sessions.error
  const hidden = sessions.data.total - sessions.data.data.length

  return (
    <div className="grid gap-3">
      {error instanceof RequestRefused && <ProblemAlert problem={error.problem} />}
      <p role="status" className="sr-only">
        {ended > 0 ? t('ended', { count: ended }) : ''}
      </p>
      <ul className="divide-y divide-line rounded-box border border-line bg-raised">
        {sessions.data.data.map((session) => {
          const name = session.browser || t('unknownBrowser')
          const isGoing = revocation.isPending && revocation.variables === session.session_id
          return (
            <li key={session.session_id} className="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-3">
              <div className="min-w-0 grow basis-64">
                <p className="font-medium">
                  {name}
                  {session.is_current && <span className="font-normal text-accent"> · {t('current')}</span>}
                </p>
                <p className="text-sm text-quiet">
                  {t.rich('since', { time: () => <Time at={session.created_at} /> })}
                  <br />
                  {t.rich('ends', { time: () => <Time at={session.expires_at} relative /> })}
                </p>
              </div>
              {!session.is_current && (
                <Button
                  tone="plain"
                  size="small"
                  aria-disabled={isGoing}
                  aria-label={t('endNamed', { name })}
                  onClick={() => {
                    if (!revocation.isPending)
                      revocation.mutate(session.session_id, { onSuccess: () => setEnded((count) => count + 1) })
                  }}
                >
                  {isGoing ? t('ending') : t('end')}
                </Button>
              )}
            </li>
          )
        })}
      </ul>
      {hidden > 0 && <p className="text-sm text-quiet">{t('more', { count: hidden })}</p>}
    </div>
  )
}
