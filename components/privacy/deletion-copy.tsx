'use client'

import { useNow, useTranslations } from 'next-intl'
import { useApiQuery } from '#components/frame/api-query.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Choice } from '#components/ui/field.tsx'
import { PlainLink } from '#components/ui/text-link.tsx'
import { AgentExport } from './agent-export.tsx'
import { type CopyChoice, copyChoices } from './deletion-rules.ts'
import { ExportDesk, type Exports, exportsAt } from './export-desk.tsx'
import { isUnfetched } from './export-rules.ts'

interface DeletionCopyProps {
  exported: Exports
  agent: { id: string; name: string } | undefined
  copy: CopyChoice
  onCopy: (copy: CopyChoice) => void
}

/** The step before a deletion: whether to take a copy, with the request or right away. */
export function DeletionCopy({ agent, ...props }: DeletionCopyProps) {
  return agent ? <AgentExport agent={agent} /> : <PersonCopy {...props} />
}

function PersonCopy({ exported, copy, onCopy }: Omit<DeletionCopyProps, 'agent'>) {
  const t = useTranslations('deletion.copy')
  const now = useNow({ updateInterval: 30_000 })
  const { data } = useApiQuery(exportsAt, {}, { initial: exported }).data ?? exported
  const isGoing = data.some(({ state }) => state === 'queued' || state === 'running')
  const unfetched = data.find((one) => isUnfetched(one, now))
  return (
    <>
      {unfetched && (
        <Alert tone="warning" title={t('unfetched')}>
          <p>
            <PlainLink href={`/api/privacy/exports/${unfetched.id}/file`} download>
              {t('download')}
            </PlainLink>
          </p>
        </Alert>
      )}
      <Choice
        label={t('label')}
        isLabelHidden
        name="copy"
        value={copy}
        onChange={onCopy}
        options={copyChoices.map((value) => ({
          value,
          title: t(`${value}.title`),
          ...(value === 'with' && { text: t('with.text') }),
        }))}
      />
      <ExportDesk initial={exported} isBrief />
      {isGoing && <p className="text-sm text-quiet">{t('preparing')}</p>}
    </>
  )
}
