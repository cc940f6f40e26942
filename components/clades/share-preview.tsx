'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { CopyableId } from '#components/ui/copyable-id.tsx'
import { Checkbox } from '#components/ui/field.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { type CladeSibling, type Preview, sendAt, sharingPage, sharingPaths } from './clades.ts'
import { MarkedJson } from './marked-json.tsx'
import { RemovedValues } from './removed-values.tsx'

interface SharePreviewProps {
  agentId: string
  entryId: string
  preview: Preview
  siblings: readonly CladeSibling[]
  /** Something other than the entry blocks sharing; the page explains it above. */
  isHindered: boolean
}
/** The most recipients that a request can name; with more, the request is sent to all. */
const maxNamed = 100

/** Exactly what a share would send, whether it may be sent, and to whom, with the send button. */
export function SharePreview({ agentId, entryId, preview, siblings, isHindered }: SharePreviewProps) {
  const t = useTranslations('agentSharing.preview')
  const kinds = useTranslations('agentSharing.entryKinds')
  const { payload, removed, gate, digest, degraded } = preview
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set())
  const [sent, setSent] = useState<{ id: string; to: number }>()
  const send = useApiMutation(sendAt, { touches: sharingPaths })
  const to = siblings.filter(({ agent_id }) => !left.has(agent_id)).map(({ agent_id }) => agent_id)
  const canChoose = siblings.length <= maxNamed
  const numbers = { confidence: gate.confidence, needed: gate.needed, kind: kinds(payload.kind) }
  const toggle = (id: string) =>
    setLeft((before) => {
      const next = new Set(before)
      if (!next.delete(id)) next.add(id)
      return next
    })
  const share = () => {
    if (to.length === 0) return
    send.begin(
      { params: { id: agentId }, body: { entry_id: entryId, digest, ...(canChoose && { siblings: to }) } },
      ({ data }) => setSent({ id: data.share_id, to: data.sent_to.length }),
    )
  }
  return (
    <div className="grid gap-4">
      <div className="grid gap-2">
        <h3 className="font-medium">{t('takenOut')}</h3>
        <RemovedValues removed={removed} />
        <p className="text-sm text-quiet">{t('look')}</p>
      </div>
      {degraded !== undefined && (
        <Alert tone="warning" title={t('degradedTitle')}>
          <p>{t('degraded')}</p>
        </Alert>
      )}
      <div className="grid gap-2">
        <h3 className="font-medium">{t('payload')}</h3>
        <MarkedJson value={payload} label={t('payload')} />
        <p className="flex flex-wrap items-center gap-1 text-sm text-quiet">
          {t('digest')} <CopyableId id={digest} what={t('digest')} />
        </p>
      </div>
      <Alert tone={gate.passes ? 'info' : 'warning'} title={t(gate.passes ? 'passes' : 'fails', numbers)}>
        {!gate.passes && <p>{t('failsText')}</p>}
      </Alert>
      {sent && (
        <Alert tone="done" title={t('sent', { count: sent.to })} isLive>
          <p>
            {t.rich('sentText', {
              link: (text) => <TextLink href={sharingPage(agentId, { share: sent.id })}>{text}</TextLink>,
            })}
          </p>
        </Alert>
      )}
      {gate.passes && !isHindered && !sent && (
        <>
          {canChoose ? (
            <fieldset className="grid gap-2">
              <legend className="mb-2 font-medium">{t('to')}</legend>
              {siblings.map(({ agent_id, name, status }) => (
                <Checkbox
                  key={agent_id}
                  label={<bdi>{name ?? agent_id}</bdi>}
                  hint={status === 'paused' ? t('paused') : undefined}
                  checked={!left.has(agent_id)}
                  onChange={() => toggle(agent_id)}
                />
              ))}
            </fieldset>
          ) : (
            <p>{t('toAll', { count: siblings.length })}</p>
          )}
          <p className="text-quiet">{t('consequences')}</p>
          {send.problem && (
            <div className="grid gap-2">
              <ProblemAlert problem={send.problem} />
              {send.problem.code === 'conflict' && <p>{t('again')}</p>}
            </div>
          )}
          <Button onClick={share} aria-disabled={send.isPending || to.length === 0} className="justify-self-start">
            {send.isPending ? t('sending') : t('send', { count: to.length })}
          </Button>
        </>
      )}
    </div>
  )
}
