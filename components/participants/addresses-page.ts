/** The participants of a project whose reported addresses nobody has confirmed. The list of participants reads the parameter. */
export const addressesToConfirmPage = (projectId: string): string =>
  `/projects/${encodeURIComponent(projectId)}?tab=participants&unconfirmed=true`
