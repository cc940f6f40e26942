'use client'

import { useTranslations } from 'next-intl'
import { useEffect, useRef, useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { RemoveUserFactors } from '#components/second-factors/remove-user-factors.tsx'
import { Alert } from '#components/ui/alert.tsx'
import { useApprovalMode } from '#components/ui/approval-mode.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import type { UserDetail } from '#lib/domains/accounts/users-contract.ts'
import { ActionLine, ActionText } from './action-line.tsx'
import { CloseAccount, EndSessions } from './ending-access.tsx'
import { reactivateAt, resendInvitationAt, sendResetAt, usersAt } from './endpoints.ts'

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
  const [done, setDone] = useState<string>()
  const result = useRef<HTMLDivElement>(null)
  // The button that had the focus may no longer be on the page.
  useEffect(() => {
    if (done !== undefined) result.current?.focus()
  }, [done])
  const isClosed = user.states.includes('deactivated')
  const isInvited = user.states.includes('invited')
  const problem = resend.problem ?? reset.problem ?? reopen.problem
  return (
    <div className="grid gap-3">
      {problem && <ProblemAlert problem={problem} />}
      {done !== undefined && !problem && <Alert ref={result} tone="done" title={done} isLive />}
      <ul className="divide-y divide-line rounded-box border border-line bg-raised">
        {isInvited && !isClosed && (
          <ActionLine
            text={t('resendText')}
            action={t('resend')}
            isPending={resend.isPending}
            onClick={() => resend.begin({ params }, () => setDone(t('done.resend')))}
          />
        )}
        {!isInvited && !isClosed && (
          <>
            <ActionLine
              text={t('resetText')}
              action={t('reset')}
              isPending={reset.isPending}
              onClick={() => reset.begin({ params }, () => setDone(t('done.reset')))}
            />
            <EndSessions user={user} onDone={setDone} />
          </>
        )}
        {!isInvited && !isSelf && (
          <ActionText text={ofFactors('lost')}>
            <RemoveUserFactors user={user} onDone={setDone} />
          </ActionText>
        )}
        {isClosed && (
          <ActionLine
            text={t('reopenText')}
            action={isApprovalRequired ? ofApproval('ask') : t('reopen')}
            isPending={reopen.isPending}
            onClick={() => reopen.begin({ params }, () => setDone(t('done.reopen')))}
          />
        )}
        {!isClosed && !isSelf && !user.is_last_admin && <CloseAccount user={user} onDone={setDone} />}
      </ul>
    </div>
  )
}
