const anonymizedSources = ['erasure.owners', 'knowledge.references', 'privacy.requests', 'projects.references']
/** Whether an erasure leaves the records of a data source, without the name and texts of the subject, instead of deleting them. */
export const isAnonymized = (holder: string): boolean => anonymizedSources.includes(holder)
