'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiMutation, useApiQuery } from '#components/frame/api-query.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { FactList } from '#components/ui/facts.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { type ApprovalSetting, approvalSettingAt, changeApprovalSettingAt, proposalsAt } from './endpoints.ts'

const actions = ['users', 'factors', 'tokens', 'holds', 'retention', 'stores', 'setting'] as const

/** Whether consequential actions need an approval, which actions these are, and the switch. */
export function ApprovalPanel({ initial }: { initial: ApprovalSetting }) {
  const t = useTranslations('approvals.setting')
  const query = useApiQuery(approvalSettingAt, {}, { initial })
  const { is_on: isOn, active_admins: admins } = (query.data ?? initial).data
  const [isOpen, setOpen] = useState(false)
  const change = useApiMutation(changeApprovalSettingAt, { touches: [approvalSettingAt.path, proposalsAt.path] })
  const isAlone = change.problem?.code === 'wrong_state'
  const action = t(isOn ? 'turnOff' : 'turnOn')
  return (
    <div className="grid gap-4">
      {query.problem && <ProblemAlert problem={query.problem} />}
      {isOn && admins < 2 && (
        <Alert tone="warning" title={t('onlyOne')}>
          <p>{t.rich('onlyOneText', { command: (words) => <code className="font-mono">{words}</code> })}</p>
        </Alert>
      )}
      <FactList
        facts={[
          [t('state'), t(isOn ? 'on' : 'off')],
          [t('admins'), admins],
        ]}
      />
      <Button tone="plain" className="justify-self-start" onClick={() => setOpen(true)}>
        {action}
      </Button>
      <Confirm
        open={isOpen}
        onOpenChange={setOpen}
        title={t(isOn ? 'offTitle' : 'onTitle')}
        consequences={
          isOn ? (
            <p>{t('offText')}</p>
          ) : (
            <>
              <p>{t('onText')}</p>
              <ul className="list-disc pl-5">
                {actions.map((one) => (
                  <li key={one}>{t(`actions.${one}`)}</li>
                ))}
              </ul>
              <p>{t('tokensText')}</p>
            </>
          )
        }
        action={action}
        tone="main"
        needsApproval={isOn}
        change={{ ...change, problem: isAlone ? undefined : change.problem }}
        onConfirm={() => change.begin({ body: { is_on: !isOn } }, () => setOpen(false))}
      >
        {isAlone && <Alert tone="danger" title={t('alone')} isLive />}
      </Confirm>
    </div>
  )
}
