'use client'

import { useTranslations } from 'next-intl'
import { type FormEvent, useState } from 'react'
import { useApiQuery } from '#components/frame/api-query.ts'
import { countText } from '#components/frame/count-text.ts'
import { SkillCorrection, UnitCorrection, type WithinPage } from '#components/knowledge/correction-form.tsx'
import {
  isSkillId,
  type ListedRecord,
  recordPage,
  recordsAt,
  skillAt,
  unitAt,
} from '#components/knowledge/knowledge.ts'
import { SearchSnippet } from '#components/knowledge/snippet.tsx'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { Field, Select } from '#components/ui/field.tsx'
import { Section } from '#components/ui/page.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { Skeleton } from '#components/ui/skeleton.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import type { AdminRequestDetail } from './endpoints.ts'

const shownRecords = 10
interface Search {
  q: string
  kind: 'unit' | 'skill'
  isTheirs: boolean
}

/** The texts of one record, to edit. The server refuses private records of others. */
function RecordEditor({ id, within }: { id: string; within: WithinPage }) {
  const isSkill = isSkillId(id)
  const unit = useApiQuery(unitAt, { params: { id } }, { enabled: !isSkill })
  const skill = useApiQuery(skillAt, { params: { id } }, { enabled: isSkill })
  const problem = unit.problem ?? skill.problem
  if (problem) return <ProblemAlert problem={problem} />
  if (unit.data) return <UnitCorrection initial={unit.data.data} within={within} />
  if (skill.data) return <SkillCorrection initial={skill.data.data} within={within} />
  return <Skeleton className="h-24" />
}

interface FoundRecordProps {
  record: ListedRecord
  isOpen: boolean
  open: () => void
  within: WithinPage
}
function FoundRecord({ record, isOpen, open, within }: FoundRecordProps) {
  const t = useTranslations('adminRequest.correct')
  const names = useTranslations('knowledge')
  return (
    <li className="grid gap-2 py-3">
      <div className="flex flex-wrap items-start justify-between gap-x-4 gap-y-1">
        <div className="grid min-w-0 flex-1 basis-60 gap-0.5">
          <TextLink href={recordPage(record.id)} className="wrap-anywhere">
            <bdi>{record.title || t('untitled')}</bdi>
          </TextLink>
          <p className="text-sm text-quiet">
            {names(`kinds.${record.kind}`)} · {names(`visibility.${record.visibility}.short`)} ·{' '}
            <Time at={record.updated_at} show="relative" />
          </p>
          {record.snippet && record.snippet.text !== record.title && (
            <p className="text-sm wrap-anywhere">
              <SearchSnippet snippet={record.snippet} />
            </p>
          )}
        </div>
        {!isOpen && (
          <Button size="small" tone="plain" onClick={open} aria-label={`${t('correct')}: ${record.title}`}>
            {t('correct')}
          </Button>
        )}
      </div>
      {isOpen && (
        <div className="rounded-box border border-line bg-raised p-4">
          <RecordEditor id={record.id} within={within} />
        </div>
      )}
    </li>
  )
}

interface CorrectionDeskProps {
  request: AdminRequestDetail
  /** Called with the title of a record that was corrected, if it is the person’s: titles of others do not belong into the answer. */
  onCorrected: (title: string) => void
  onAnswer: () => void
}

/** Finds the records that a request is about, and corrects them, beside the text of the request. */
export function CorrectionDesk({ request, onCorrected, onAnswer }: CorrectionDeskProps) {
  const t = useTranslations('adminRequest.correct')
  const common = useTranslations('common')
  const [typed, setTyped] = useState<Search>({ q: '', kind: 'unit', isTheirs: true })
  const [search, setSearch] = useState(typed)
  const [open, setOpen] = useState<string>()
  const [done, setDone] = useState<string>()
  const { account_id: owner, agent_id: agent } = request
  const theirs = agent !== null ? { agent_id: agent } : owner !== null ? { owner } : {}
  const query = {
    kind: search.kind,
    limit: shownRecords,
    ...(search.q !== '' && { q: search.q }),
    ...(search.isTheirs && theirs),
  }
  const found = useApiQuery(recordsAt, { query })
  const records = found.data?.data ?? []
  const submit = (event: FormEvent) => {
    event.preventDefault()
    setOpen(undefined)
    setSearch({ ...typed, q: typed.q.trim() })
  }
  return (
    <Section id="correct" title={t('title')} lead={t('text')}>
      <form onSubmit={submit} className="flex flex-wrap items-end gap-3">
        <div className="min-w-0 flex-1 basis-56">
          <Field
            label={t('search')}
            type="search"
            dir="auto"
            maxLength={200}
            value={typed.q}
            onChange={({ currentTarget: { value } }) => setTyped({ ...typed, q: value })}
          />
        </div>
        <Select
          label={t('kind')}
          value={typed.kind}
          onChange={({ currentTarget: { value } }) =>
            setTyped({ ...typed, kind: value === 'skill' ? 'skill' : 'unit' })
          }
          options={[
            { value: 'unit', title: t('units') },
            { value: 'skill', title: t('skills') },
          ]}
        />
        <Select
          label={t('whose')}
          value={typed.isTheirs ? 'theirs' : 'all'}
          onChange={({ currentTarget: { value } }) => setTyped({ ...typed, isTheirs: value === 'theirs' })}
          options={[
            { value: 'theirs', title: t('theirs') },
            { value: 'all', title: t('all') },
          ]}
        />
        <Button type="submit" tone="plain">
          {t('go')}
        </Button>
      </form>
      {done !== undefined && (
        <Alert tone="done" title={t('done', { title: done })} isLive>
          <Button size="small" className="justify-self-start" onClick={onAnswer}>
            {t('answer')}
          </Button>
        </Alert>
      )}
      {found.problem && <ProblemAlert problem={found.problem} />}
      {!found.data && !found.problem && <Skeleton className="h-24" />}
      {found.data && records.length === 0 && <p className="text-quiet">{t('none')}</p>}
      {records.length > 0 && (
        <ul aria-label={t('title')} className="divide-y divide-line border-y border-line">
          {records.map((record) => (
            <FoundRecord
              key={record.id}
              record={record}
              isOpen={open === record.id}
              open={() => setOpen(record.id)}
              within={{
                saved: () => {
                  setDone(record.title || t('untitled'))
                  if (search.isTheirs) onCorrected(record.title || t('untitled'))
                  setOpen(undefined)
                },
                cancel: () => setOpen(undefined),
              }}
            />
          ))}
        </ul>
      )}
      {found.data && found.data.total > records.length && (
        <p className="text-sm text-quiet">
          {t('more', { count: records.length, total: countText(common, found.data.total) })}
        </p>
      )}
    </Section>
  )
}
