import { useTranslations } from 'next-intl'
import { Space } from '#components/ui/punctuation.ts'
import { PlainLink } from '#components/ui/text-link.tsx'
import { type ReferenceOperation, type ShownParameter, type ShownSchema, typeOf } from './document.ts'
import { Method } from './method.tsx'
import { Notes, SchemaView } from './schema-view.tsx'

const verbs = ['public', 'read', 'write', 'privacy', 'self', 'person', 'audit', 'admin'] as const

/** Text that may contain `code` in backticks. */
const Prose = ({ text }: { text: string }) => {
  const [plain, code, ...rest] = text.split('`')
  return (
    <>
      {plain}
      {code && <code className="rounded-small bg-sunken px-1 font-mono text-[0.8125rem]">{code}</code>}
      {rest.length > 0 && <Prose text={rest.join('`')} />}
    </>
  )
}

function Parameters({ parameters }: { parameters: ShownParameter[] }) {
  const t = useTranslations('reference')
  return (
    <div className="grid gap-2">
      <h3 className="text-sm font-medium text-quiet">{t('parameters')}</h3>
      <ul className="grid gap-2 border-l border-line pl-4">
        {parameters.map((parameter) => (
          <li key={`${parameter.in} ${parameter.name}`} className="grid gap-0.5">
            <p className="text-[0.8125rem]">
              <code className="font-mono font-medium">{parameter.name}</code>{' '}
              <span className="text-quiet">{t(`in.${parameter.in}`)}</span>{' '}
              <code className="font-mono text-quiet [overflow-wrap:anywhere]">{typeOf(parameter.schema ?? {})}</code>
              {parameter.required && <span className="text-amber"> {t('required')}</span>}
            </p>
            <Notes
              schema={{ ...parameter.schema, description: parameter.description ?? parameter.schema?.description }}
            />
          </li>
        ))}
      </ul>
    </div>
  )
}

/** One operation: its address, permission, parameters and responses. */
export function OperationView({
  operation,
  schemas,
}: {
  operation: ReferenceOperation
  schemas: Readonly<Record<string, ShownSchema>>
}) {
  const t = useTranslations('reference')
  const { method, path, summary, description, operationId, parameters, requestBody, responses } = operation
  const permission = operation['x-permission']
  const verb = verbs.find((one) => one === permission.slice(permission.lastIndexOf(':') + 1)) ?? 'admin'
  const answers = Object.entries(responses).sort(([one], [other]) => one.localeCompare(other))
  const refusals = answers.filter(([status]) => status >= '400')
  const codes = refusals.flatMap(([status, { description: text }]) =>
    [...text.matchAll(/`(\w+)`/g)].map(([, code = '']) => ({ status, code })),
  )
  return (
    <article id={operationId} className="grid scroll-mt-16 gap-3 border-t border-line py-5">
      <header className="grid gap-1">
        <h2 className="font-semibold" lang="en">
          <a href={`#${operationId}`} className="hover:underline">
            {summary}
          </a>
        </h2>
        <p className="flex flex-wrap items-baseline gap-x-2 gap-y-1 font-mono text-[0.8125rem]">
          <Method method={method} />
          <span className="[overflow-wrap:anywhere]">{path}</span>
        </p>
      </header>
      {description && (
        <p lang="en">
          <Prose text={description} />
        </p>
      )}
      <p className="text-sm text-quiet">
        {t('permission')}
        <Space />
        <code className="font-mono text-[0.8125rem] text-ink">{permission}</code> · {t(`verbs.${verb}`)}
      </p>
      {parameters.length > 0 && <Parameters parameters={parameters} />}
      {Object.entries(requestBody?.content ?? {}).map(
        ([type, { schema }]) => schema && <SchemaView key={type} title={t('body')} schema={schema} schemas={schemas} />,
      )}
      {answers
        .filter(([status]) => status < '400')
        .map(([status, { content }]) => {
          const [first] = Object.entries(content ?? {})
          const schema = first?.[1].schema
          return schema ? (
            <SchemaView key={status} title={t('answer', { status })} schema={schema} schemas={schemas} />
          ) : (
            <p key={status}>{t('emptyAnswer', { status })}</p>
          )
        })}
      <details className="text-sm">
        <summary className="cursor-pointer text-quiet">{t('refusals', { count: codes.length })}</summary>
        <ul className="grid gap-1 pt-2 sm:grid-cols-2 lg:grid-cols-3">
          {codes.map(({ status, code }) => (
            <li key={code}>
              <span className="text-quiet tabular-nums">{status}</span>{' '}
              <PlainLink href={`/docs/api#${code}`} className="font-mono text-[0.8125rem]">
                {code}
              </PlainLink>
            </li>
          ))}
        </ul>
      </details>
    </article>
  )
}
