//go:build embedded

package entities_test

import "colonnade/domain/entity"

// testsetAttacks returns commits that name another project's testcases.
func testsetAttacks(f entity.Family, ids map[string]string) []any {
	if f.Kind != entity.Testset {
		return nil
	}
	named := object{"testcase_ids": []any{ids["testcase"]}}
	return []any{
		object{"testset": object{"slug": "mine", "data": named}},
		object{"testset_revision": object{"testset_variant_id": ids["testset_variant"], "data": named}},
		object{"testset_revision": object{"testset_revision_id": ids["testset_revision"], "delta": object{"rows": object{"remove": []any{ids["testcase"]}}}}},
		object{"testset_revision": object{"testset_revision_id": ids["testset_revision"], "delta": object{"columns": object{"add": []any{"stolen"}}}}},
		object{"testset_revision_ref": object{"id": ids["testset_revision"]}, "windowing": object{"next": ids["testcase"]}},
	}
}

func testcaseAttacks(ids map[string]string) []any {
	return []any{
		nil,
		object{},
		object{"testcase_ids": []any{ids["testcase"]}},
		object{"testcase_refs": []any{object{"id": ids["testcase"]}}},
		object{"testset_id": ids["testset"]},
		object{"testset_ids": []any{ids["testset"]}},
		object{"testset_refs": []any{object{"id": ids["testset"]}}},
		object{"testset_slug": "the-testset"},
		object{"testset_ref": object{"id": ids["testset"]}},
		object{"testset_variant_id": ids["testset_variant"]},
		object{"testset_revision_id": ids["testset_revision"]},
		object{"testset_revision_ref": object{"id": ids["testset_revision"]}, "testcase_ids": []any{ids["testcase"]}},
		object{"windowing": object{"next": ids["testcase"]}},
		object{"windowing": object{"next": ids["testcase"], "order": "ascending"}},
	}
}
