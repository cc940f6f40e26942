'use client'

import { useTranslations } from 'next-intl'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { RemoveUserFactors } from '#components/second-factors/remove-user-factors.tsx'
import { Alert } from '#components/ui/alert.tsx'
import { useApprovalMode } from '#components/ui/approval-mode.tsx'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import type { UserDetail } from '#lib/domains/accounts/users-contract.ts'
import { deactivateAt, endUserSessionsAt, reactivateAt, resendInvitationAt, sendResetAt, usersAt } from './endpoints.ts'

const Line = ({ text, children }: { text: string; children: ReactNode }) => (
  <li className="flex flex-wrap items-center justify-between gap-x-6 gap-y-2 px-4 py-3">
    <p className="min-w-0 grow basis-64 text-quiet">{text}</p>
    {children}
  </li>
)
const touches = [usersAt.path]

/** Admin actions for sign-in and sessions of a user. `isSelf`: the user is the reader. */
export function UserAccess({ user, isSelf }: { user: UserDetail; isSelf: boolean }) {
  const t = useTranslations('users.user')
  const ofFactors = useTranslations('secondFactors.admin')
  const ofApproval = useTranslations('common.approval')
  const isApprovalRequired = useApprovalMode()
  const params = { id: user.account_id }
  const resend = useApiMutation(resendInvitationAt, { touches })
  const reset = useApiMutation(sendResetAt, { touches })
  const reopen = useApiMutation(reactivateAt, { touches })
  const end = useApiMutation(endUserSessionsAt, { touches })
  const close = useApiMutation(deactivateAt, { touches })
  const [asked, setAsked] = useState<'end' | 'close'>()
  const [done, setDone] = useState<string>()
  const result = useRef<HTMLDivElement>(null)
  // The button of the action may be gone.
  useEffect(() => {
    if (done !== undefined) result.current?.focus()
  }, [done])
  const finish = (words: string) => {
    setAsked(undefined)
    setDone(words)
  }
  const isClosed = user.states.includes('deactivated')
  const isInvited = user.states.includes('invited')
  const problem = resend.problem ?? reset.problem ?? reopen.problem
  const { name, sessions, agents, open_requests: requests } = user
  return (
    <div className="grid gap-3">
      {problem && <ProblemAlert problem={problem} />}
      {done !== undefined && !problem && <Alert ref={result} tone="done" title={done} isLive />}
      <ul className="divide-y divide-line rounded-box border border-line bg-raised">
        {isInvited && !isClosed && (
          <Line text={t('resendText')}>
            <Button
              tone="plain"
              size="small"
              aria-disabled={resend.isPending}
              onClick={() => resend.begin({ params }, () => finish(t('done.resend')))}
            >
              {t('resend')}
            </Button>
          </Line>
        )}
        {!isInvited && !isClosed && (
          <Line text={t('resetText')}>
            <Button
              tone="plain"
              size="small"
              aria-disabled={reset.isPending}
              onClick={() => reset.begin({ params }, () => finish(t('done.reset')))}
            >
              {t('reset')}
            </Button>
          </Line>
        )}
        {!isClosed && !isInvited && (
          <Line text={t('endText', { count: sessions })}>
            <Button tone="plain" size="small" onClick={() => setAsked('end')}>
              {t('end')}
            </Button>
          </Line>
        )}
        {!isInvited && !isSelf && (
          <Line text={ofFactors('lost')}>
            <RemoveUserFactors user={user} onDone={finish} />
          </Line>
        )}
        {isClosed && (
          <Line text={t('reopenText')}>
            <Button
              tone="plain"
              size="small"
              aria-disabled={reopen.isPending}
              onClick={() => reopen.begin({ params }, () => finish(t('done.reopen')))}
            >
              {isApprovalRequired ? ofApproval('ask') : t('reopen')}
            </Button>
          </Line>
        )}
        {!isClosed && !isSelf && !user.is_last_admin && (
          <Line text={t('closeText')}>
            <Button tone="danger" size="small" onClick={() => setAsked('close')}>
              {t('close')}
            </Button>
          </Line>
        )}
      </ul>
      <Confirm
        open={asked === 'end'}
        onOpenChange={(open) => !open && setAsked(undefined)}
        title={t('endTitle', { name })}
        consequences={<p>{t('endConsequence', { count: sessions, name })}</p>}
        action={t('end')}
        tone="main"
        change={end}
        onConfirm={() => end.begin({ params }, ({ data }) => finish(t('done.end', { count: data.sessions_ended })))}
      />
      <Confirm
        open={asked === 'close'}
        onOpenChange={(open) => !open && setAsked(undefined)}
        title={t('closeTitle', { name })}
        consequences={
          <>
            <p>{t('closeConsequence', { sessions, name })}</p>
            <p>{t('closeStays', { agents, requests })}</p>
          </>
        }
        action={t('close')}
        needsApproval
        change={close}
        onConfirm={() => close.begin({ params }, () => finish(t('done.close')))}
      />
    </div>
  )
}
