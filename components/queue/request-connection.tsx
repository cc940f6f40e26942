'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiMutation, useApiQuery } from '#components/frame/api-query.ts'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { Section } from '#components/ui/page.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { showToast } from '#components/ui/toast.ts'
import { touching } from './act-shell.tsx'
import { type AdminRequestDetail, connectAt, disconnectAt, suggestionsAt } from './endpoints.ts'

interface Suggestion {
  key: string
  name: string
  what: string
  body: { account_id: string } | { project_id: string; participant_id: string }
}

/** Accounts and participants with the confirmed address; an admin decides whether one of them sent the request. */
export function RequestConnection({ request }: { request: AdminRequestDetail }) {
  const t = useTranslations('adminRequest.connect')
  const asked = useApiQuery(suggestionsAt, { params: { id: request.id } })
  const [chosen, setChosen] = useState<Suggestion>()
  const change = useApiMutation(connectAt, touching)
  const { account = null, participants = [] } = asked.data?.data ?? {}
  const suggestions: Suggestion[] = [
    ...(account
      ? [{ key: account.account_id, name: account.name, what: t('account'), body: { account_id: account.account_id } }]
      : []),
    ...participants.map(({ project_id, project_name, participant_id, name }) => ({
      key: participant_id,
      name: name ?? t('unnamed'),
      what: t('participant', { project: project_name }),
      body: { project_id, participant_id },
    })),
  ]
  const connect = () =>
    chosen &&
    change.begin({ params: { id: request.id }, body: chosen.body }, () => {
      showToast({ title: t('done') })
      setChosen(undefined)
    })
  return (
    <Section id="connect" title={t('title')} lead={t('text')}>
      {asked.problem && <ProblemAlert problem={asked.problem} />}
      {asked.data && suggestions.length === 0 && <p className="text-quiet">{t('none')}</p>}
      {suggestions.length > 0 && (
        <ul className="divide-y divide-line border-y border-line">
          {suggestions.map((one) => (
            <li key={one.key} className="flex flex-wrap items-center gap-x-3 gap-y-1 py-2">
              <span className="font-medium">{one.name}</span>
              <span className="grow text-sm text-quiet">{one.what}</span>
              <Button tone="plain" size="small" onClick={() => setChosen(one)}>
                {t('button')}
              </Button>
            </li>
          ))}
        </ul>
      )}
      {chosen && (
        <Confirm
          open
          onOpenChange={(open) => !open && setChosen(undefined)}
          title={t('title2', { name: chosen.name })}
          consequences={<p>{t('account_id' in chosen.body ? 'accountText' : 'participantText')}</p>}
          action={t('button')}
          tone="main"
          change={change}
          onConfirm={connect}
        />
      )}
    </Section>
  )
}

/** Makes a request unconnected again, until the requester confirms it. */
export function RequestDisconnection({ request }: { request: AdminRequestDetail }) {
  const t = useTranslations('adminRequest.connect')
  const [isOpen, setOpen] = useState(false)
  const change = useApiMutation(disconnectAt, touching)
  return (
    <Section id="disconnect" title={t('wrong')} lead={t('wrongText')}>
      <Button tone="plain" className="justify-self-start" onClick={() => setOpen(true)}>
        {t('disconnect')}
      </Button>
      <Confirm
        open={isOpen}
        onOpenChange={setOpen}
        title={t('disconnectTitle')}
        consequences={<p>{t('disconnectText')}</p>}
        action={t('disconnect')}
        tone="main"
        change={change}
        onConfirm={() => change.begin({ params: { id: request.id } }, () => showToast({ title: t('disconnected') }))}
      />
    </Section>
  )
}
