'use client'

import { useTranslations } from 'next-intl'
import { type FormEvent, useState } from 'react'
import { useApiMutation, useApiQuery } from '#components/frame/api-query.ts'
import { useDraft } from '#components/frame/draft.ts'
import { useFaultWords } from '#components/frame/faults.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button, ButtonLink } from '#components/ui/button.tsx'
import { CodeBlock } from '#components/ui/code-block.tsx'
import { Field, TextArea } from '#components/ui/field.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import type { ProblemDocument } from '#lib/client/request.ts'
import {
  correctionVersionOf,
  skillFields,
  skillPatch,
  sortedKeys,
  type TextField,
  unitFields,
  unitPatch,
} from './corrections.ts'
import {
  correctSkillAt,
  correctUnitAt,
  knowledgePaths,
  recordPage,
  type SkillRecord,
  skillAt,
  type UnitRecord,
  unitAt,
} from './knowledge.ts'

/** For a form within the page of another record: what to do after a correction is saved or cancelled. */
export interface WithinPage {
  saved: () => void
  cancel: () => void
}

/** Edits the texts of a unit. */
export function UnitCorrection({ initial, within }: { initial: UnitRecord; within?: WithinPage }) {
  const { id } = initial
  const asked = useApiQuery(unitAt, { params: { id } }, { initial: { data: initial } })
  const correct = useApiMutation(correctUnitAt, { touches: knowledgePaths })
  const unit = asked.data?.data ?? initial
  return (
    <CorrectionForm
      id={id}
      etag={unit.etag}
      fields={unitFields(unit.unit)}
      isSop={unit.unit['@type'] === 'ExpertSOP'}
      state={correct}
      within={within}
      save={(texts, done) =>
        correct.begin(
          { params: { id }, headers: { 'if-match': unit.etag }, body: { unit: unitPatch(unit.unit, texts) } },
          ({ warnings }) => done(warnings ?? []),
        )
      }
    />
  )
}

/** Edits the SKILL.md and the files of a skill. */
export function SkillCorrection({ initial, within }: { initial: SkillRecord; within?: WithinPage }) {
  const { id } = initial
  const asked = useApiQuery(skillAt, { params: { id } }, { initial: { data: initial } })
  const correct = useApiMutation(correctSkillAt, { touches: knowledgePaths })
  const skill = asked.data?.data ?? initial
  return (
    <CorrectionForm
      id={id}
      etag={skill.etag}
      fields={skillFields(skill)}
      isSop={false}
      state={correct}
      within={within}
      save={(texts, done) =>
        correct.begin(
          { params: { id }, headers: { 'if-match': skill.etag }, body: skillPatch(skill, texts) },
          ({ warnings }) => done(warnings ?? []),
        )
      }
    />
  )
}

interface CorrectionFormProps {
  id: string
  /** The stored version that `fields` show. */
  etag: string
  fields: readonly TextField[]
  isSop: boolean
  state: { isPending: boolean; problem: ProblemDocument | undefined }
  save: (texts: Readonly<Record<string, string>>, done: (warnings: string[]) => void) => void
  within: WithinPage | undefined
}
interface Draft extends Record<string, unknown> {
  /** The stored version when the edit began; empty if nothing was typed yet. */
  etag: string
  typed: Record<string, string>
}

/** The validation message for a text, if the problem names its path. */
const faultOf = (problem: ProblemDocument | undefined, key: string): string | undefined =>
  problem?.issues?.find(({ path }) => [path.join('.'), path.slice(1).join('.')].includes(key))?.message

/** The result, with warnings of the sanitizer. */
function SavedCorrection({
  id,
  warnings,
  within,
}: {
  id: string
  warnings: readonly string[]
  within: WithinPage | undefined
}) {
  const t = useTranslations('knowledge.correct')
  return (
    <div className="grid justify-items-start gap-4">
      <Alert tone="done" title={t('saved')} isLive>
        {warnings.length > 0 && (
          <>
            <p>{t('warnings')}</p>
            <ul className="list-disc pl-5">
              {warnings.map((warning) => (
                <li key={warning} lang="en">
                  {warning}
                </li>
              ))}
            </ul>
          </>
        )}
      </Alert>
      {within ? (
        <Button onClick={within.saved}>{t('close')}</Button>
      ) : (
        <ButtonLink href={recordPage(id)}>{t('back')}</ButtonLink>
      )}
    </div>
  )
}

/** The label of a text: its field, with its number or path. */
function useFieldName(): (field: TextField) => string {
  const t = useTranslations('knowledge.correct')
  return (one) => {
    if (one.label === 'file') return t('fields.file', { path: one.of ?? '' })
    const n = one.of ?? 0
    switch (one.label) {
      case 'step':
      case 'stepSummary':
      case 'condition':
      case 'instruction':
        return t(`fields.${one.label}`, { n })
      default:
        return t(`fields.${one.label}`)
    }
  }
}

interface CorrectedFieldProps {
  field: TextField
  value: string
  error: string | undefined
  /** Somebody else changed this text after the edit began. */
  isOther: boolean
  onType: (text: string) => void
  /** Uses the stored text. */
  onTake: () => void
}
function CorrectedField({ field, value, error, isOther, onType, onTake }: CorrectedFieldProps) {
  const t = useTranslations('knowledge.correct')
  const nameOf = useFieldName()
  const shared = {
    name: field.key,
    label: nameOf(field),
    dir: 'auto' as const,
    value,
    error,
    className: field.label === 'skillMd' || field.label === 'file' ? 'font-mono' : undefined,
  }
  return (
    <div className="grid gap-2">
      {field.isLong ? (
        <TextArea {...shared} onChange={({ target }) => onType(target.value)} />
      ) : (
        <Field {...shared} onChange={({ target }) => onType(target.value)} />
      )}
      {isOther && (
        <div className="grid gap-1 rounded-box border border-amber/40 bg-amber-wash px-4 py-3">
          <p className="font-medium">{t('now')}</p>
          <p dir="auto" className="whitespace-pre-wrap [overflow-wrap:anywhere]">
            {field.value}
          </p>
          <Button tone="plain" size="small" className="justify-self-start" onClick={onTake}>
            {t('take')}
          </Button>
        </div>
      )}
    </div>
  )
}

function CorrectionForm({ id, etag, fields, isSop, state, save, within }: CorrectionFormProps) {
  const t = useTranslations('knowledge.correct')
  const { draft, change, clear } = useDraft<Draft>(`correct:${id}`, { etag: '', typed: {} })
  const [warnings, setWarnings] = useState<string[]>()
  const { changed, homeless } = sortedKeys(fields, draft.typed)
  const hasChanges = Object.keys(changed).length > 0
  // Somebody else changed the record after this edit began.
  const isMoved = draft.etag !== '' && correctionVersionOf(draft.etag) !== correctionVersionOf(etag)
  const { problem } = state
  const faultWords = useFaultWords()
  const errorOf = (key: string) => {
    const message = faultOf(problem, key)
    return message === undefined ? undefined : faultWords(message)
  }
  const isPlaced = fields.some(({ key }) => faultOf(problem, key) !== undefined)

  const type = (key: string, text: string) =>
    change({ etag: draft.etag === '' ? etag : draft.etag, typed: { ...draft.typed, [key]: text } })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!hasChanges) return
    save(changed, (told) => {
      clear()
      // Warnings stay readable until they are closed.
      if (within && told.length === 0) within.saved()
      else setWarnings(told)
    })
  }
  if (warnings) return <SavedCorrection id={id} warnings={warnings} within={within} />
  return (
    <form method="post" onSubmit={submit} className="grid gap-5" data-form="correct">
      <div className="grid gap-2 text-quiet">
        <p>{t('lead')}</p>
        {isSop && <p>{t('sopLead')}</p>}
      </div>
      {isMoved && (
        <Alert tone="warning" title={t('changedTitle')} isLive>
          <p>{t('changedText')}</p>
        </Alert>
      )}
      {problem && problem.code !== 'precondition_failed' && <ProblemAlert problem={problem} />}
      {problem && !isPlaced && problem.issues && problem.issues.length > 0 && (
        <ul className="list-disc pl-5 text-sm text-red">
          {problem.issues.slice(0, 5).map(({ path, message }) => (
            <li key={path.join('.') + message}>
              <code className="font-mono">{path.join('.')}</code>: {faultWords(message)}
            </li>
          ))}
        </ul>
      )}
      {fields.map((one) => (
        <CorrectedField
          key={one.key}
          field={one}
          value={draft.typed[one.key] ?? one.value}
          error={errorOf(one.key)}
          isOther={isMoved && one.key in changed}
          onType={(text) => type(one.key, text)}
          onTake={() => change({ typed: { ...draft.typed, [one.key]: one.value } })}
        />
      ))}
      {homeless.length > 0 && (
        <Alert tone="warning" title={t('goneTitle')}>
          <p>{t('goneText')}</p>
          {homeless.map(([key, text]) => (
            <CodeBlock key={key} code={text} what={key} />
          ))}
        </Alert>
      )}
      <div className="flex flex-wrap items-center gap-2">
        <Button type="submit" aria-disabled={state.isPending || !hasChanges}>
          {t('save')}
        </Button>
        {within ? (
          <Button
            tone="plain"
            onClick={() => {
              clear()
              within.cancel()
            }}
          >
            {t('cancel')}
          </Button>
        ) : (
          <ButtonLink href={recordPage(id)} tone="plain" onClick={clear}>
            {t('cancel')}
          </ButtonLink>
        )}
        {!hasChanges && <p className="text-sm text-quiet">{t('nothing')}</p>}
      </div>
    </form>
  )
}
