import { useFormatter, useTranslations } from 'next-intl'
import { Alert } from '#components/ui/alert.tsx'
import { CodeBlock } from '#components/ui/code-block.tsx'
import { FactList } from '#components/ui/facts.tsx'
import type { SkillRecord } from './knowledge.ts'
import { Written } from './unit-content.tsx'

/** SKILL.md and the files as plain text: never rendered as markup. */
export function SkillContent({ skill }: { skill: SkillRecord }) {
  const t = useTranslations('knowledge.unit')
  const format = useFormatter()
  const sizeOf = (bytes: number): string =>
    format.number(bytes < 1_000 ? bytes : bytes / 1_000, {
      style: 'unit',
      unit: bytes < 1_000 ? 'byte' : 'kilobyte',
      maximumFractionDigits: 1,
    })
  const named = (title: string, value: string | null) =>
    value === null ? [] : [[title, <bdi key={title}>{value}</bdi>] as const]
  return (
    <div className="grid gap-6">
      <Written text={skill.description} />
      {skill.misrepresents && (
        <Alert tone="warning" title={t('undeclared')}>
          <p>{t('undeclaredText', { tools: format.list(skill.undeclared_tools) })}</p>
        </Alert>
      )}
      <FactList
        facts={[
          ...named(t('author'), skill.author),
          ...named(t('version'), skill.version),
          ...named(t('license'), skill.license),
          ...named(t('tags'), skill.tags.length > 0 ? skill.tags.join(', ') : null),
          ...named(t('allowedTools'), skill.allowed_tools === null ? null : skill.allowed_tools.join(', ')),
        ]}
      />
      <div className="grid gap-1.5">
        <h3 className="font-medium">SKILL.md</h3>
        <CodeBlock code={skill.skill_md} what="SKILL.md" />
      </div>
      <div className="grid gap-2">
        <h3 className="font-medium">{t('files')}</h3>
        {skill.files.length === 0 && <p className="text-quiet">{t('noFiles')}</p>}
        {skill.files.map(({ path, size, content }) => (
          <details key={path}>
            <summary className="w-fit cursor-pointer text-accent">
              <bdi>{t('file', { path, size: sizeOf(size) })}</bdi>
            </summary>
            <div className="mt-2">
              <CodeBlock code={content} what={path} />
            </div>
          </details>
        ))}
      </div>
    </div>
  )
}
