import { CopyButton } from './copy-button.tsx'

/** A command or document to read and copy. */
export const CodeBlock = ({ code, what }: { code: string; what: string }) => (
  <div className="flex items-start gap-1 rounded-box border border-line bg-sunken">
    <pre className="min-w-0 grow  px-3.5 py-3 font-mono text-[0.8125rem] leading-relaxed whitespace-pre-wrap [overflow-wrap:anywhere]">
      <code>{code}</code>
    </pre>
    <CopyButton text={code} what={what} className="m-1.5" />
  </div>
)
