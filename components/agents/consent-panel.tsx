'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { PlainLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import { giveConsentAt, type OwnAgentWhole, withdrawConsentAt } from './agents.ts'
import { agentTitle } from './names.ts'

const touches = ['/api/agents', '/api/knowledge', '/api/privacy']

/** Withdraws consent as easily as it was given (GDPR art. 7(3)), or gives it again. */
export function AgentConsentPanel({ agent }: { agent: OwnAgentWhole }) {
  const t = useTranslations('agents.one')
  const [isOpen, setOpen] = useState(false)
  const give = useApiMutation(giveConsentAt, { touches })
  const withdraw = useApiMutation(withdrawConsentAt, { touches })
  const { consent, notice } = agent
  const isWithdrawn = consent.withdrawn_at !== null
  const change = isWithdrawn ? give : withdraw
  const name = agentTitle(agent)
  const close = () => setOpen(false)
  const confirm = () =>
    isWithdrawn
      ? give.begin({ body: { policy_version: notice.version, agent_id: agent.agent_id } }, close)
      : withdraw.begin({ query: { agent_id: agent.agent_id } }, close)

  return (
    <div className="grid justify-items-start gap-3">
      <p>
        {consent.withdrawn_at
          ? t.rich('consentWithdrawn', { time: () => <Time at={consent.withdrawn_at ?? ''} /> })
          : consent.given_at
            ? t.rich('consentGiven', {
                time: () => <Time at={consent.given_at ?? ''} />,
                version: consent.policy_version,
                via: consent.via ?? 'other',
              })
            : t('consentNone', { basis: consent.lawful_basis })}
        {consent.policy_version !== notice.version && ` ${t('consentOlder', { version: notice.version })}`}
      </p>
      <Button tone="plain" onClick={() => setOpen(true)}>
        {isWithdrawn ? t('give') : t('withdraw')}
      </Button>
      <Confirm
        open={isOpen}
        onOpenChange={setOpen}
        tone="main"
        title={t(isWithdrawn ? 'giveAsk' : 'withdrawAsk', { name })}
        consequences={
          <p>
            {isWithdrawn
              ? t.rich('giveText', {
                  version: notice.version,
                  link: (chunks) => (
                    <PlainLink href="/privacy" target="_blank">
                      {chunks}
                    </PlainLink>
                  ),
                })
              : t('withdrawText')}
          </p>
        }
        action={t(isWithdrawn ? 'giveDo' : 'withdrawDo')}
        change={change}
        onConfirm={confirm}
      />
    </div>
  )
}
