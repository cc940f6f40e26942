const pseudonymizedSources = ['erasure.owners', 'knowledge.references', 'privacy.requests', 'projects.references']
/**
 * Whether an erasure leaves the records of a data source, without the name and texts of the subject, instead of deleting them. They are
 * not anonymous: the installation has the key of the pseudonyms (GDPR Art. 4(5)).
 */
export const isPseudonymized = (holder: string): boolean => pseudonymizedSources.includes(holder)
