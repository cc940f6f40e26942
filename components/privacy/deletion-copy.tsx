'use client'

import { useTranslations } from 'next-intl'
import { Choice } from '#components/ui/field.tsx'
import { AgentExport } from './agent-export.tsx'
import { type CopyChoice, copyChoices } from './deletion-rules.ts'
import { ExportDesk, type Exports } from './export-desk.tsx'

interface DeletionCopyProps {
  exported: Exports
  agent: { id: string; name: string } | undefined
  copy: CopyChoice
  onCopy: (copy: CopyChoice) => void
}

/** The step before a deletion: whether to take a copy, with the request or right away. */
export function DeletionCopy({ exported, agent, copy, onCopy }: DeletionCopyProps) {
  const t = useTranslations('deletion.copy')
  if (agent) return <AgentExport agent={agent} />
  const isGoing = exported.data.some(({ state }) => state === 'queued' || state === 'running')
  return (
    <>
      <Choice
        label={t('label')}
        isLabelHidden
        name="copy"
        value={copy}
        onChange={onCopy}
        options={copyChoices.map((value) => ({
          value,
          title: t(`${value}.title`),
          text: t(`${value}.text`),
        }))}
      />
      <ExportDesk initial={exported} isBrief />
      {isGoing && <p className="text-sm text-quiet">{t('preparing')}</p>}
    </>
  )
}
