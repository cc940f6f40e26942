'use client'

import { useTranslations } from 'next-intl'
import { useEffect, useRef, useState } from 'react'
import { useApiMutation, useApiQuery } from '#components/frame/api-query.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { Time } from '#components/ui/time.tsx'
import { useBrowserName } from './browser-name.ts'
import { endOthersAt, endSessionAt, type SessionPage, sessionsAt } from './endpoints.ts'

const touches = [sessionsAt.path]

export function SessionList({ initial }: { initial: SessionPage }) {
  const t = useTranslations('sessions')
  const browserName = useBrowserName()
  const sessions = useApiQuery(sessionsAt, { query: { limit: 100 } }, { initial })
  const ending = useApiMutation(endSessionAt, { touches })
  const endingOthers = useApiMutation(endOthersAt, { touches })
  const [ended, setEnded] = useState(0)
  const told = useRef<HTMLDivElement>(null)
  // The focused button was removed together with its session.
  useEffect(() => {
    if (ended > 0) told.current?.focus()
  }, [ended])
  const [isConfirming, setConfirming] = useState(false)
  const { data: rows, total } = sessions.data ?? initial
  const problem = ending.problem ?? sessions.problem
  const hidden = total - rows.length

  return (
    <div className="grid gap-3">
      {problem && <ProblemAlert problem={problem} />}
      {ended > 0 && <Alert ref={told} tone="done" title={t('ended', { count: ended })} isLive />}
      <ul className="divide-y divide-line rounded-box border border-line bg-raised">
        {rows.map((session) => {
          const id = session.session_id
          const name = browserName(session.browser) || t('unknownBrowser')
          const isGoing = ending.isPending && ending.variables?.params?.id === id
          return (
            <li key={id} className="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-3">
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
                  onClick={() => ending.begin({ params: { id } }, () => setEnded((count) => count + 1))}
                >
                  {isGoing ? t('ending') : t('end')}
                </Button>
              )}
            </li>
          )
        })}
      </ul>
      {hidden > 0 && <p className="text-sm text-quiet">{t('more', { count: hidden })}</p>}
      {total > 1 && (
        <p>
          <Button tone="plain" onClick={() => setConfirming(true)}>
            {t('endOthers')}
          </Button>
        </p>
      )}
      <Confirm
        open={isConfirming}
        onOpenChange={setConfirming}
        title={t('endOthersTitle')}
        consequences={<p>{t('endOthersText', { count: Math.max(0, total - 1) })}</p>}
        action={t('endOthers')}
        change={endingOthers}
        onConfirm={() =>
          endingOthers.begin({}, ({ data }) => {
            setEnded((count) => count + data.sessions_ended)
            setConfirming(false)
          })
        }
      />
    </div>
  )
}
