'use client'

import { useFormatter, useNow, useTranslations } from 'next-intl'
import { useState } from 'react'
import { isolated } from '#components/agents/names.ts'
import { useApiMutation } from '#components/frame/api-query.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button, PlainButtonLink } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { Select } from '#components/ui/field.tsx'
import { Space, spacedDigits } from '#components/ui/punctuation.ts'
import { closeAt, type Project, projectPaths, reopenAt } from './endpoints.ts'
import { type ErasureReason, shownErasureReasons } from './erasing.ts'

const shape = { day: 'numeric', month: 'long', year: 'numeric' } as const

/**
 * Closes a project after a waiting period. The dialog explains what is deleted when, what remains possible until then, and how to reopen
 * it.
 */
export function CloseButton({ project, days }: { project: Project; days: number }) {
  const t = useTranslations('projects.settings.close')
  const reasonName = useTranslations('projects.reasons')
  const format = useFormatter()
  const now = useNow()
  const [isOpen, setOpen] = useState(false)
  const [reason, setReason] = useState<ErasureReason>('deal_closure')
  const change = useApiMutation(closeAt, { touches: projectPaths })
  const date = format.dateTime(new Date(now.getTime() + days * 86_400_000), shape)
  return (
    <>
      <Button tone="danger" onClick={() => setOpen(true)} className="justify-self-start">
        {t('open')}
      </Button>
      <Confirm
        open={isOpen}
        onOpenChange={setOpen}
        title={t('ask', { name: isolated(project.name) })}
        consequences={
          <>
            <p>{t('goes', { days, date })}</p>
            <p>{t('then', { conversations: project.conversations, documents: project.documents })}</p>
            <p>
              {t('letters')}
              <Space />
              {t('off')}
            </p>
          </>
        }
        action={t('do', { days })}
        change={change}
        onConfirm={() => change.begin({ params: { projectId: project.id }, body: { reason } }, () => setOpen(false))}
      >
        <Select
          label={t('reason')}
          hint={t('reasonHint')}
          value={reason}
          options={shownErasureReasons.map((value) => ({ value, title: reasonName(value) }))}
          onChange={({ target }) =>
            setReason(shownErasureReasons.find((one) => one === target.value) ?? 'deal_closure')
          }
        />
      </Confirm>
    </>
  )
}

/** Reopens a closing project. */
export function ReopenButton({ project, tone = 'plain' }: { project: Project; tone?: 'plain' | 'main' }) {
  const t = useTranslations('projects.settings.reopen')
  const [isOpen, setOpen] = useState(false)
  const change = useApiMutation(reopenAt, { touches: projectPaths })
  return (
    <>
      <Button tone={tone} onClick={() => setOpen(true)} className="justify-self-start">
        {t('open')}
      </Button>
      <Confirm
        open={isOpen}
        onOpenChange={setOpen}
        tone="main"
        title={t('ask', { name: isolated(project.name) })}
        consequences={<p>{t('text')}</p>}
        action={t('do')}
        change={change}
        onConfirm={() => change.begin({ params: { projectId: project.id } }, () => setOpen(false))}
      />
    </>
  )
}

/** Shown on each page of a closing project: the date, and links to reopen or export it. */
export function ClosingAlert({ project, exportHref }: { project: Project; exportHref: string | undefined }) {
  const t = useTranslations('projects.one.closing')
  const format = useFormatter()
  const now = useNow()
  if (project.status !== 'closing' || project.closes_at === null) return null
  const at = new Date(project.closes_at)
  return (
    <Alert
      tone="warning"
      title={t('title', {
        date: format.dateTime(at, { ...shape, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }),
        left: spacedDigits(format.relativeTime(at, now)),
      })}
    >
      {project.is_held && <p className="font-medium">{t('held')}</p>}
      <p>{t('text')}</p>
      <div className="flex flex-wrap gap-2">
        {exportHref !== undefined && (
          <PlainButtonLink tone="plain" href={exportHref} download>
            {t('export')}
          </PlainButtonLink>
        )}
        {project.role !== 'member' && <ReopenButton project={project} />}
      </div>
    </Alert>
  )
}
