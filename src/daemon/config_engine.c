/*
 * Thresholds and times of the engines: which section's word counts for which upstream,
 * and what cannot be together.
 *
 * The hard case: two values that contradict each other may come from two sections, or
 * one of them from no section at all. The fault names the one that was written for
 * fewer upstreams, and is reported once, not for every upstream it is true of.
 *
 *   an upstream's memory  [ room                           ][ a record ][ small ]
 *   at most               [ dirty_bytes ][ retained_bytes  ]
 *   writeback begins at   [ backgr. ]
 */
#include "daemon/config_draft.h"
#include "daemon/config_memory.h"
#include "daemon/config_value.h"

#define CONFIG_ENGINE_PLUG_MAX_US ((uint64_t)2 * 1000)
#define CONFIG_ENGINE_DIRTY_EXPIRE_US ((uint64_t)1000 * 1000)
#define CONFIG_ENGINE_RETAINED_EXPIRE_US ((uint64_t)5 * 1000 * 1000)

/* Where the values of one upstream are looked for; NULL: there is no such section. */
struct config_engine_scope {
	struct config_draft *draft;
	const struct config_section *own; /* of the upstream, not NULL */
	const struct config_section *writeback;
	const struct config_section *commit;
	uint64_t room_bytes;
	/* Contradictions between common sections that were reported for an upstream. */
	bool has_reported_background;
	bool has_reported_room;
};

struct config_engine_value {
	enum config_key key;
	const struct config_section *section; /* NULL: the default */
	uint64_t number;
};

static bool config_engine_is_in(const struct config_section *section,
				enum config_key key)
{
	return section != NULL && section->has_number[key];
}

static struct config_engine_value
config_engine_value(const struct config_engine_scope *scope, enum config_key key,
		    uint64_t default_number)
{
	const struct config_section *common =
		config_key_is_of(key, CONFIG_SECTION_WRITEBACK) ? scope->writeback
								: scope->commit;
	struct config_engine_value value = { .key = key, .number = default_number };

	if (config_engine_is_in(scope->own, key))
		value.section = scope->own;
	else if (config_engine_is_in(common, key))
		value.section = common;
	if (value.section != NULL)
		value.number = value.section->number[key];
	return value;
}

struct config_engine_sizes {
	struct config_engine_value background;
	struct config_engine_value dirty;
	struct config_engine_value retained;
};

/* By default a third of the room is for dirty bytes; writeback begins at half. */
static struct config_engine_sizes
config_engine_sizes(const struct config_engine_scope *scope)
{
	struct config_engine_sizes sizes;
	uint64_t third = (scope->room_bytes / 3) >> 20 << 20;

	sizes.dirty = config_engine_value(scope, CONFIG_KEY_DIRTY_BYTES, third);
	sizes.retained = config_engine_value(scope, CONFIG_KEY_RETAINED_BYTES,
					     scope->room_bytes - third);
	sizes.background = config_engine_value(scope, CONFIG_KEY_DIRTY_BACKGROUND_BYTES,
					       sizes.dirty.number / 2);
	return sizes;
}

/* Is it not reported yet? `*has_reported`: one between common sections was. */
static bool config_engine_is_news(const struct config_engine_scope *scope,
				  const struct config_engine_value *a,
				  const struct config_engine_value *b,
				  bool *has_reported)
{
	bool is_common = a->section != scope->own && b->section != scope->own;
	bool is_news = !is_common || !*has_reported;

	*has_reported = *has_reported || is_common;
	return is_news;
}

/* Which of two values is to blame: the one for fewer upstreams, else the first. */
static bool config_engine_is_second(const struct config_engine_scope *scope,
				    const struct config_engine_value *a,
				    const struct config_engine_value *b)
{
	return a->section == NULL ||
	       (a->section != scope->own && b->section == scope->own);
}

/* " = 64M: REASON dirty_bytes, which is 32M by default" and what is `allowed`. */
static void config_engine_fault(const struct config_engine_scope *scope,
				const struct config_engine_value *blamed,
				const struct config_engine_value *other,
				const char *reason, const char *allowed)
{
	char blamed_text[CONFIG_SIZE_TEXT_BYTES];
	char other_text[CONFIG_SIZE_TEXT_BYTES];

	INVARIANT(blamed->section != NULL); /* the defaults fit each other */
	config_value_size_text(blamed->number, blamed_text, sizeof(blamed_text));
	config_value_size_text(other->number, other_text, sizeof(other_text));
	config_draft_fault(scope->draft, blamed->section, blamed->key, blamed_text,
			   blamed->section->key_line[blamed->key],
			   "%s %s, which is %s%s%s", reason,
			   config_key_name(other->key), other_text,
			   other->section == NULL ? " by default" : "", allowed);
}

static void config_engine_check_background(struct config_engine_scope *scope,
					   const struct config_engine_sizes *sizes)
{
	const struct config_engine_value *background = &sizes->background;
	const struct config_engine_value *dirty = &sizes->dirty;

	if (background->number <= dirty->number ||
	    !config_engine_is_news(scope, background, dirty,
				   &scope->has_reported_background))
		return;
	if (config_engine_is_second(scope, background, dirty))
		config_engine_fault(scope, dirty, background, "less than", "");
	else
		config_engine_fault(scope, background, dirty, "more than", "");
}

static void config_engine_check_room(struct config_engine_scope *scope,
				     const struct config_engine_sizes *sizes)
{
	const struct config_engine_value *dirty = &sizes->dirty;
	const struct config_engine_value *retained = &sizes->retained;
	uint64_t room = scope->room_bytes;
	char room_text[CONFIG_SIZE_TEXT_BYTES];
	char allowed[160];

	if ((dirty->number <= room && retained->number <= room - dirty->number) ||
	    !config_engine_is_news(scope, dirty, retained, &scope->has_reported_room))
		return;
	config_value_size_text(room, room_text, sizeof(room_text));
	snprintf(allowed, sizeof(allowed),
		 "; with this memory and number of upstreams both together can be at "
		 "most %s",
		 room_text);
	if (config_engine_is_second(scope, dirty, retained))
		config_engine_fault(scope, retained, dirty, "too much with", allowed);
	else
		config_engine_fault(scope, dirty, retained, "too much with", allowed);
}

/* A value that is no good was reported; its default must not be held against others. */
static bool config_engine_is_complete(const struct config_engine_scope *scope)
{
	static const enum config_key sizes[] = { CONFIG_KEY_DIRTY_BACKGROUND_BYTES,
						 CONFIG_KEY_DIRTY_BYTES,
						 CONFIG_KEY_RETAINED_BYTES };
	const struct config_section *sections[] = { scope->own, scope->writeback,
						    scope->commit };

	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
		for (size_t j = 0; j < sizeof(sizes) / sizeof(sizes[0]); j++) {
			if (sections[i] != NULL && sections[i]->given[sizes[j]] &&
			    !sections[i]->has_number[sizes[j]])
				return false;
		}
	}
	return true;
}

static void config_engine_fill(struct config_engine_scope *scope)
{
	struct config_upstream *upstream = scope->own->upstream;
	struct config_engine_sizes sizes = config_engine_sizes(scope);

	if (config_engine_is_complete(scope)) {
		config_engine_check_background(scope, &sizes);
		config_engine_check_room(scope, &sizes);
	}
	upstream->dirty_background_bytes = sizes.background.number;
	upstream->dirty_bytes = sizes.dirty.number;
	upstream->retained_bytes = sizes.retained.number;
	upstream->plug_max_us = config_engine_value(scope, CONFIG_KEY_PLUG_MAX,
						    CONFIG_ENGINE_PLUG_MAX_US)
					.number;
	upstream->dirty_expire_us = config_engine_value(scope, CONFIG_KEY_DIRTY_EXPIRE,
							CONFIG_ENGINE_DIRTY_EXPIRE_US)
					    .number;
	upstream->retained_expire_us =
		config_engine_value(scope, CONFIG_KEY_RETAINED_EXPIRE,
				    CONFIG_ENGINE_RETAINED_EXPIRE_US)
			.number;
}

void config_engine_resolve(struct config_draft *draft)
{
	struct config_engine_scope scope = {
		.draft = draft,
		.room_bytes = config_memory_room_bytes(draft->config->memory_bytes,
						       draft->config->upstream_count),
	};
	const struct config_section *section;

	TAILQ_FOREACH(section, &draft->sections, link) {
		if (section->kind == CONFIG_SECTION_WRITEBACK)
			scope.writeback = section;
		if (section->kind == CONFIG_SECTION_COMMIT)
			scope.commit = section;
	}
	TAILQ_FOREACH(section, &draft->sections, link) {
		if (section->kind != CONFIG_SECTION_UPSTREAM)
			continue;
		scope.own = section;
		config_engine_fill(&scope);
	}
}
