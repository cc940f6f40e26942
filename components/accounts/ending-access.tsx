'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { Confirm } from '#components/ui/confirm.tsx'
import type { UserDetail } from '#lib/domains/accounts/users-contract.ts'
import { ActionLine } from './action-line.tsx'
import { deactivateAt, endUserSessionsAt, usersAt } from './endpoints.ts'

const touches = [usersAt.path]

interface EndingProps {
  user: UserDetail
  onDone: (words: string) => void
}

/** Ends all sessions of a user after a confirmation. */
export function EndSessions({ user: { account_id: id, name, sessions }, onDone }: EndingProps) {
  const t = useTranslations('users.user')
  const [isAsked, setAsked] = useState(false)
  const end = useApiMutation(endUserSessionsAt, { touches })
  return (
    <>
      <ActionLine text={t('endText', { count: sessions })} action={t('end')} onClick={() => setAsked(true)} />
      <Confirm
        open={isAsked}
        onOpenChange={setAsked}
        title={t('endTitle', { name })}
        consequences={<p>{t('endConsequence', { count: sessions, name })}</p>}
        action={t('end')}
        tone="main"
        change={end}
        onConfirm={() =>
          end.begin({ params: { id } }, ({ data }) => {
            setAsked(false)
            onDone(t('done.end', { count: data.sessions_ended }))
          })
        }
      />
    </>
  )
}

/** Closes the account of a user after a confirmation. */
export function CloseAccount({ user, onDone }: EndingProps) {
  const t = useTranslations('users.user')
  const [isAsked, setAsked] = useState(false)
  const close = useApiMutation(deactivateAt, { touches })
  const { account_id: id, name, sessions, agents, open_requests: requests } = user
  return (
    <>
      <ActionLine text={t('closeText')} action={t('close')} tone="danger" onClick={() => setAsked(true)} />
      <Confirm
        open={isAsked}
        onOpenChange={setAsked}
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
        onConfirm={() =>
          close.begin({ params: { id } }, () => {
            setAsked(false)
            onDone(t('done.close'))
          })
        }
      />
    </>
  )
}
