'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiBatch } from '#components/frame/api-batch.ts'
import { BulkBar } from '#components/ui/bulk-bar.tsx'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { OutcomeList } from '#components/ui/outcome-list.tsx'
import { deactivateAt, endUserSessionsAt, resendInvitationAt, type UserPage, usersAt } from './endpoints.ts'

type User = UserPage['data'][number]
const acts = ['resend', 'end', 'close'] as const
type Act = (typeof acts)[number]

const paramsOf = ({ account_id: id }: User) => ({ params: { id } })
const touching = { touches: [usersAt.path] }

/** The bulk actions for the selected users, with an outcome for each. */
export function UserBulk({ users, onClear }: { users: readonly User[]; onClear: () => void }) {
  const t = useTranslations('users.bulk')
  const [act, setAct] = useState<Act>()
  const [finished, setFinished] = useState<Act>()
  const batches = {
    resend: useApiBatch(resendInvitationAt, paramsOf, touching),
    end: useApiBatch(endUserSessionsAt, paramsOf, touching),
    close: useApiBatch(deactivateAt, paramsOf, touching),
  }
  const active = batches[act ?? 'end']
  const result = finished && batches[finished]
  const start = (next: Act) => {
    batches[next].reset()
    setFinished(undefined)
    setAct(next)
  }
  const confirm = () =>
    act &&
    active.begin(users, () => {
      setAct(undefined)
      setFinished(act)
      onClear()
    })
  return (
    <>
      {finished && result && result.outcomes.length > 0 && (
        <OutcomeList
          key={finished}
          title={t('done', {
            done: result.outcomes.filter(({ problem }) => problem === undefined).length,
            total: result.outcomes.length,
          })}
          done={t(`ok.${finished}`)}
          outcomes={result.outcomes.map(({ item, problem }) => ({
            key: item.account_id,
            name: item.name,
            problem,
            reason: problem?.code === 'wrong_state' || problem?.code === 'conflict' ? t(`not.${finished}`) : undefined,
          }))}
        />
      )}
      <BulkBar
        count={users.length}
        onClear={onClear}
        note={active.isPending && t('done', { done: active.outcomes.length, total: active.total })}
      >
        {acts.map((one) => (
          <Button key={one} tone={one === 'close' ? 'danger' : 'plain'} size="small" onClick={() => start(one)}>
            {t(one)}
          </Button>
        ))}
      </BulkBar>
      <Confirm
        open={act !== undefined}
        onOpenChange={(open) => !open && setAct(undefined)}
        title={act && t('title', { action: act, count: users.length })}
        consequences={act && <p>{t('text', { action: act })}</p>}
        action={t(act ?? 'end')}
        needsApproval={act === 'close'}
        tone={act === 'close' ? 'danger' : 'main'}
        change={{ isPending: active.isPending, problem: undefined, reset: active.reset }}
        onConfirm={confirm}
      />
    </>
  )
}
