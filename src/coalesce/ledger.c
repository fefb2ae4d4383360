/*
 * The record of answered, not yet committed WRITEs of one file.
 *
 * The hard case: a WRITE answered while a COMMIT is out is not covered by that COMMIT, so an
 * entry that spans the sending of a COMMIT is cut, not removed. Entries are few: WRITEs
 * under one verifier share one, and when clients are many they share an entry that
 * names none. It does not promise to know which bytes were written.
 */
#include "coalesce/ledger.h"

#include "coalesce/verifier.h"
#include "nfsgather/invariant.h"

/*
 * The entry that a WRITE of this client joins: its own, or, in a full ledger, any under
 * the same verifier.
 */
static struct ledger_entry *ledger_find(struct ledger *ledger,
					const struct nfs3_verifier *upstream_verifier,
					uint64_t client_id)
{
	struct ledger_entry *same_verifier = NULL;
	unsigned int i;

	for (i = 0; i < ledger->count; i++) {
		struct ledger_entry *entry = &ledger->entry[i];

		if (!verifier_equal(&entry->upstream_verifier, upstream_verifier))
			continue;
		if (entry->client_id == client_id)
			return entry;
		same_verifier = entry;
	}
	return ledger->count == LEDGER_ENTRIES ? same_verifier : NULL;
}

static unsigned int ledger_oldest(const struct ledger *ledger)
{
	unsigned int oldest = 0;
	unsigned int i;

	for (i = 1; i < ledger->count; i++)
		if (ledger->entry[i].first_answer < ledger->entry[oldest].first_answer)
			oldest = i;
	return oldest;
}

static void ledger_remove(struct ledger *ledger, unsigned int index)
{
	ledger->entry[index] = ledger->entry[--ledger->count];
}

bool ledger_make_room(struct ledger *ledger,
		      const struct nfs3_verifier *upstream_verifier,
		      struct nfs3_verifier *spilled)
{
	unsigned int oldest;
	unsigned int i;

	if (ledger->count < LEDGER_ENTRIES)
		return false;
	for (i = 0; i < ledger->count; i++)
		if (verifier_equal(&ledger->entry[i].upstream_verifier,
				   upstream_verifier))
			return false;
	oldest = ledger_oldest(ledger);
	*spilled = ledger->entry[oldest].upstream_verifier;
	ledger_remove(ledger, oldest);
	return true;
}

void ledger_note(struct ledger *ledger, const struct nfs3_verifier *upstream_verifier,
		 uint64_t client_id, uint64_t sequence)
{
	struct ledger_entry *entry = ledger_find(ledger, upstream_verifier, client_id);

	if (entry != NULL) {
		entry->last_answer = sequence;
		if (entry->client_id != client_id)
			entry->client_id = LEDGER_SEVERAL_CLIENTS;
		return;
	}
	INVARIANT(ledger->count < LEDGER_ENTRIES);
	ledger->entry[ledger->count++] = (struct ledger_entry){
		.upstream_verifier = *upstream_verifier,
		.client_id = client_id,
		.first_answer = sequence,
		.last_answer = sequence,
	};
}

bool ledger_disproves(const struct ledger *ledger, const struct nfs3_verifier *verifier,
		      uint64_t commit_sent)
{
	unsigned int i;

	for (i = 0; i < ledger->count; i++) {
		const struct ledger_entry *entry = &ledger->entry[i];

		if (entry->first_answer < commit_sent &&
		    !verifier_equal(&entry->upstream_verifier, verifier))
			return true;
	}
	return false;
}

void ledger_settle(struct ledger *ledger, uint64_t commit_sent)
{
	unsigned int i = 0;

	while (i < ledger->count) {
		struct ledger_entry *entry = &ledger->entry[i];

		if (entry->last_answer < commit_sent) {
			ledger_remove(ledger, i);
			continue;
		}
		if (entry->first_answer < commit_sent)
			entry->first_answer = commit_sent;
		i++;
	}
}

bool ledger_holds_more_than(const struct ledger *ledger, uint64_t client_id,
			    uint64_t sequence)
{
	unsigned int i;

	for (i = 0; i < ledger->count; i++) {
		const struct ledger_entry *entry = &ledger->entry[i];

		if (entry->client_id == LEDGER_SEVERAL_CLIENTS ||
		    entry->client_id != client_id || entry->last_answer >= sequence)
			return true;
	}
	return false;
}
