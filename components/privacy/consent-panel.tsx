'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import type { Endpoint } from '#lib/client/request.ts'
import type { giveConsent, withdrawAllConsent, withdrawConsent } from '#lib/domains/agents/contract.ts'
import { RefusalNote } from './refusal.tsx'

const withdrawAllAt: Endpoint<typeof withdrawAllConsent> = { method: 'delete', path: '/api/privacy/consent' }
const withdrawAt: Endpoint<typeof withdrawConsent> = { method: 'delete', path: '/v1/auth/consent' }
const giveAt: Endpoint<typeof giveConsent> = { method: 'post', path: '/v1/auth/consent' }

interface ConsentPanelProps {
  agent: { id: string; name: string } | undefined
  agents: number
  withdrawn: number
  /** Version of the privacy notice in force. */
  noticeVersion: string
  /** The lawful basis of agents that are registered here without consent. */
  otherBasis: string | undefined
}

/** Withdraws consent for all agents or one agent, and gives it again for one (GDPR art. 7(3)). */
export function PrivacyConsentPanel({ agent, agents, withdrawn, noticeVersion, otherBasis }: ConsentPanelProps) {
  const t = useTranslations('myPrivacy.consent')
  const touches = ['/api/privacy/restriction']
  const all = useApiMutation(withdrawAllAt, { touches })
  const one = useApiMutation(withdrawAt, { touches })
  const again = useApiMutation(giveAt, { touches })
  const [isAsked, setAsked] = useState(false)
  const [done, setDone] = useState<'withdrawn' | 'given'>()
  const withdrawal = agent ? one : all
  const withdraw = () => {
    const finish = () => {
      setAsked(false)
      setDone('withdrawn')
    }
    if (agent) one.begin({ query: { agent_id: agent.id } }, finish)
    else all.begin({}, finish)
  }
  if (agents === 0) return <p className="text-quiet">{t('none')}</p>
  const standing = agents - withdrawn
  const eraseAt = `/settings/privacy/delete${agent ? `?agent=${encodeURIComponent(agent.id)}` : ''}`
  return (
    <div className="grid gap-4">
      {done === 'withdrawn' && (
        <Alert tone="done" title={t('done')} isLive>
          <p>
            <TextLink href={eraseAt}>{t('erase')}</TextLink>
          </p>
        </Alert>
      )}
      {done === 'given' && <Alert tone="done" title={t('againDone')} isLive />}
      {otherBasis !== undefined && <p>{t('other', { basis: otherBasis })}</p>}
      <div className="grid gap-1">
        {standing > 0 && <p>{t('given', { count: standing })}</p>}
        {withdrawn > 0 && <p>{t('withdrawn', { count: withdrawn })}</p>}
        {withdrawn > 0 && !agent && <p className="text-sm text-quiet">{t('perAgent')}</p>}
      </div>
      {standing > 0 && (
        <Button tone="plain" className="justify-self-start" onClick={() => setAsked(true)}>
          {t('button')}
        </Button>
      )}
      {agent && withdrawn > 0 && (
        <div className="grid justify-items-start gap-2">
          <RefusalNote error={again.error} words="myPrivacy" />
          <Button
            tone="plain"
            aria-disabled={again.isPending}
            onClick={() =>
              again.begin({ body: { policy_version: noticeVersion, agent_id: agent.id } }, () => setDone('given'))
            }
          >
            {t('again')}
          </Button>
          <p className="text-sm text-quiet">
            {t.rich('againText', {
              version: noticeVersion,
              link: (words) => <TextLink href="/privacy">{words}</TextLink>,
            })}
          </p>
        </div>
      )}
      <Confirm
        open={isAsked}
        onOpenChange={setAsked}
        title={t('confirmTitle')}
        consequences={<p>{t('confirmText', { count: standing })}</p>}
        action={t('button')}
        change={{ ...withdrawal, problem: undefined }}
        onConfirm={withdraw}
      >
        <RefusalNote error={withdrawal.error} words="myPrivacy" />
      </Confirm>
    </div>
  )
}
