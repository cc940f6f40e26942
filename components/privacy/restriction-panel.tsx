'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiMutation, useApiQuery } from '#components/frame/api-query.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { Time } from '#components/ui/time.tsx'
import type { Endpoint } from '#lib/client/request.ts'
import type { readRestriction, setRestriction } from '#lib/domains/agents/contract.ts'
import type { Output } from '#lib/kernel/operation.ts'
import { RefusalNote } from './refusal.tsx'

const readAt: Endpoint<typeof readRestriction> = { method: 'get', path: '/api/privacy/restriction' }
const setAt: Endpoint<typeof setRestriction> = { method: 'post', path: '/api/privacy/restriction' }
export type RestrictionState = Output<typeof readRestriction>

interface RestrictionPanelProps {
  initial: RestrictionState
  agent: { id: string; name: string } | undefined
  /** The person restricted all their agents together, so it cannot be lifted for one agent. */
  isOfAll: boolean
}

/** Shows whether processing is restricted, since when and why, with a button to change it. */
export function RestrictionPanel({ initial, agent, isOfAll }: RestrictionPanelProps) {
  const t = useTranslations('myPrivacy.restrict')
  const state = useApiQuery(readAt, agent ? { query: { agent_id: agent.id } } : {}, { initial })
  const change = useApiMutation(setAt, { touches: ['/api/privacy/restriction'] })
  const [asked, setAsked] = useState<'begin' | 'lift'>()
  const [done, setDone] = useState<'begun' | 'lifted'>()
  const { data } = state.data ?? initial
  const isOwn = data.restricted_for.includes('request')
  const set = (restricted: boolean) =>
    change.begin({ body: { restricted, ...(agent && { agent_id: agent.id }) } }, () => {
      setAsked(undefined)
      setDone(restricted ? 'begun' : 'lifted')
    })
  const whom = agent ? 'agent' : 'person'
  return (
    <div className="grid gap-4">
      {done && (
        <Alert tone="done" title={t(done)} isLive>
          {done === 'lifted' && data.restricted && <p>{t('other')}</p>}
        </Alert>
      )}
      {data.restricted ? (
        <div className="grid gap-1">
          <p className="font-medium">
            {t.rich('since', { time: () => <Time at={data.restricted_at ?? initial.data.restricted_at ?? ''} /> })}
          </p>
          <ul className="list-disc pl-5">
            {data.restricted_for.map((reason) => (
              <li key={reason}>{t(`reasons.${reason}`)}</li>
            ))}
          </ul>
        </div>
      ) : (
        <p>{t('free')}</p>
      )}
      {!agent && !data.restricted && data.restricted_agents > 0 && (
        <p className="text-quiet">{t('some', { count: data.restricted_agents })}</p>
      )}
      {isOwn && isOfAll ? (
        <p className="text-quiet">{t('ofAll')}</p>
      ) : (
        <Button tone="plain" className="justify-self-start" onClick={() => setAsked(isOwn ? 'lift' : 'begin')}>
          {isOwn ? t('lift') : t('begin', { whom })}
        </Button>
      )}
      <Confirm
        open={asked !== undefined}
        onOpenChange={(open) => !open && setAsked(undefined)}
        title={t(asked === 'lift' ? 'liftTitle' : 'beginTitle')}
        consequences={<p>{t(asked === 'lift' ? 'liftText' : 'beginText')}</p>}
        action={asked === 'lift' ? t('lift') : t('begin', { whom })}
        tone="main"
        change={{ ...change, problem: undefined }}
        onConfirm={() => set(asked !== 'lift')}
      >
        <RefusalNote error={change.error} words="myPrivacy" {...(asked === 'lift' && agent && { conflict: 'ofAll' })} />
      </Confirm>
    </div>
  )
}
