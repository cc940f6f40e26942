'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiMutation, useApiQuery } from '#components/frame/api-query.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Badge } from '#components/ui/badge.tsx'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import type { Endpoint } from '#lib/client/request.ts'
import type { claimParticipation, listParticipations } from '#lib/domains/projects/participants/contract.ts'
import type { Output } from '#lib/kernel/operation.ts'

const listAt: Endpoint<typeof listParticipations> = { method: 'get', path: '/api/participations' }
const claimAt: Endpoint<typeof claimParticipation> = {
  method: 'post',
  path: '/api/participations/{participantId}/claim',
}
type List = Output<typeof listParticipations>

/** Project participations with the person's verified address, and those that the person has claimed. */
export function Participations({ initial }: { initial: List }) {
  const t = useTranslations('myPrivacy.participations')
  const { data: list = initial } = useApiQuery(listAt, {}, { initial })
  const claim = useApiMutation(claimAt, { touches: ['/api/participations', '/api/privacy/inventory'] })
  const [chosen, setChosen] = useState<List['data'][number]>()
  const [claimed, setClaimed] = useState<string>()
  const close = () => setChosen(undefined)
  return (
    <>
      {claimed !== undefined && <Alert tone="done" title={t('done', { project: claimed })} isLive />}
      <ul className="divide-y divide-line rounded-box border border-line bg-raised">
        {list.data.map((participation) => {
          const { id, project, name, claimed: isClaimed, messages, documents } = participation
          return (
            <li key={id} className="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-3">
              <div className="min-w-0 grow basis-64">
                <p className="font-medium [overflow-wrap:anywhere]">{project}</p>
                <p className="text-sm text-quiet [overflow-wrap:anywhere]">
                  {name === null ? '' : `${name} · `}
                  {t('counts', { messages, documents })}
                </p>
              </div>
              {isClaimed ? (
                <Badge>{t('claimed')}</Badge>
              ) : (
                <Button
                  tone="plain"
                  size="small"
                  aria-label={t('claimNamed', { project })}
                  onClick={() => {
                    setClaimed(undefined)
                    setChosen(participation)
                  }}
                >
                  {t('claim')}
                </Button>
              )}
            </li>
          )
        })}
      </ul>
      <Confirm
        open={chosen !== undefined}
        onOpenChange={(open) => !open && close()}
        title={t('claimTitle', { project: chosen?.project ?? '' })}
        consequences={<p>{t('claimText')}</p>}
        action={t('claim')}
        tone="main"
        change={claim}
        onConfirm={() =>
          chosen &&
          claim.begin({ params: { participantId: chosen.id } }, () => {
            setClaimed(chosen.project)
            close()
          })
        }
      />
    </>
  )
}
